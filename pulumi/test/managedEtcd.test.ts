import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { managedEtcd, ManagedEtcdArgs, managedEtcdManifest, Refusal, waitFor } from "../src";
import { mocked, valueOf } from "./mocks";

const type = "kubernetes:apps/v1:StatefulSet";

beforeEach(async () => {
  await mocked();
});

function manifest(change: (set: any) => void = () => {}): any {
  const set = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "etcd", namespace: "store", labels: { app: "etcd" } },
    spec: { replicas: 3, serviceName: "etcd", template: { metadata: { labels: { app: "etcd" } } } },
  };
  change(set);
  return set;
}

/** Passes a set through the transform, as the engine does. */
async function transformed(args: ManagedEtcdArgs, set: any, opts: pulumi.CustomResourceOptions = {}, name = "etcd") {
  const result = managedEtcd(args)({ type, name, props: set, opts });
  return result && { set: await valueOf<any>(result.props), opts: result.opts as pulumi.CustomResourceOptions };
}

test("a set opts in, is locked and awaited", async () => {
  const result = await transformed({}, manifest());
  assert.deepEqual(result?.set.metadata.labels, { app: "etcd", "etcdroll.dev/managed": "true" });
  assert.deepEqual(result?.set.metadata.annotations, { "pulumi.com/waitFor": waitFor(), "pulumi.com/timeoutSeconds": "1800" });
  assert.deepEqual(result?.set.spec.updateStrategy, { type: "RollingUpdate", rollingUpdate: { partition: 3 } });
  assert.equal(result?.opts.ignoreChanges, undefined);
});

test("the pod template stays as it is: a label there would be a new revision", async () => {
  const set = manifest();
  const before = structuredClone(set.spec.template);
  assert.deepEqual((await transformed({ config: "roll", release: "v1" }, set))?.set.spec.template, before);
});

test("everything the owner wrote is kept, except what locks", async () => {
  const result = await transformed({}, manifest((s) => {
    s.metadata.annotations = { note: "x" };
    s.spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 0, maxUnavailable: 1 } };
  }));
  assert.equal(result?.set.metadata.annotations.note, "x");
  assert.deepEqual(result?.set.spec.updateStrategy, { type: "RollingUpdate", rollingUpdate: { partition: 3, maxUnavailable: 1 } });
  assert.equal(result?.set.spec.serviceName, "etcd");
});

test("configuration, token and timeout", async () => {
  const result = await transformed({ config: pulumi.output("roll"), release: pulumi.output("v42"), timeoutSeconds: 600 }, manifest());
  assert.deepEqual(result?.set.metadata.annotations, {
    "etcdroll.dev/config": "roll",
    "etcdroll.dev/release": "v42",
    "pulumi.com/waitFor": waitFor("v42"),
    "pulumi.com/timeoutSeconds": "600",
  });
});

test("one set without replicas has one member", async () => {
  const result = await transformed({}, manifest((s) => delete s.spec.replicas));
  assert.equal(result?.set.spec.updateStrategy.rollingUpdate.partition, 1);
});

test("replicas that are known later lock later", async () => {
  const result = await transformed({}, manifest((s) => (s.spec.replicas = pulumi.output(5))));
  assert.equal(result?.set.spec.updateStrategy.rollingUpdate.partition, 5);
});

test("metadata and spec that are known later are marked later", async () => {
  const set = manifest();
  const result = await transformed({}, { metadata: pulumi.output(set.metadata), spec: pulumi.output(set.spec) });
  assert.equal(result?.set.metadata.labels["etcdroll.dev/managed"], "true");
  assert.equal(result?.set.spec.updateStrategy.rollingUpdate.partition, 3);
});

test("OnDelete has nothing to lock", async () => {
  const result = await transformed({}, manifest((s) => (s.spec.updateStrategy = { type: "OnDelete" })));
  assert.deepEqual(result?.set.spec.updateStrategy, { type: "OnDelete" });
});

test("PU-07: leavePartition keeps the partition out of updates", async () => {
  const result = await transformed({ leavePartition: true }, manifest(), { ignoreChanges: ["metadata.labels.x"] });
  assert.deepEqual(result?.opts.ignoreChanges, ["metadata.labels.x", "spec.updateStrategy.rollingUpdate.partition"]);
  assert.equal(result?.set.spec.updateStrategy.rollingUpdate.partition, 3, "a set that is created is locked all the same");
});

test("only the set that is meant is touched", async () => {
  assert.equal(await transformed({ name: "other" }, manifest()), undefined);
  assert.equal(await transformed({ namespace: "other" }, manifest()), undefined);
  assert.equal(managedEtcd()({ type: "kubernetes:apps/v1:Deployment", name: "etcd", props: manifest(), opts: {} }), undefined);
  assert.ok(await transformed({ name: "etcd", namespace: "store" }, manifest()));
  assert.ok(await transformed({ name: "etcd" }, manifest((s) => delete s.metadata.name)), "the resource's name, if the set has none of its own");
});

test("wait: false leaves the waiting to others", async () => {
  const result = await transformed({ wait: false }, manifest((s) => (s.metadata.annotations = { "pulumi.com/skipAwait": "true" })));
  assert.deepEqual(result?.set.metadata.annotations, { "pulumi.com/skipAwait": "true" });
  assert.equal(result?.set.metadata.labels["etcdroll.dev/managed"], "true");
});

test("skipAwait is removed if asked for", async () => {
  const result = await transformed({ skipAwait: "remove" }, manifest((s) => (s.metadata.annotations = { "pulumi.com/skipAwait": "true" })));
  assert.deepEqual(Object.keys(result?.set.metadata.annotations).sort(), ["pulumi.com/timeoutSeconds", "pulumi.com/waitFor"]);
});

for (const [what, args, change, field, remedy] of [
  ["skipAwait in the manifest", {}, (s: any) => (s.metadata.annotations = { "pulumi.com/skipAwait": "true" }), "pulumi.com/skipAwait", 'skipAwait: "remove"'],
  ["another condition", {}, (s: any) => (s.metadata.annotations = { "pulumi.com/waitFor": "condition=Ready" }), "pulumi.com/waitFor", "wait: false"],
  ["SS-10: two at once", {}, (s: any) => (s.spec.updateStrategy = { rollingUpdate: { maxUnavailable: 2 } }), "maxUnavailable", "set it to 1"],
  ["no members", {}, (s: any) => (s.spec.replicas = 0), "spec.replicas", "1 or more"],
  ["a name that is not known", { name: "etcd" }, (s: any) => (s.metadata.name = pulumi.output("etcd")), "metadata.name", "leave name out"],
  ["a token with =", { release: "a=b" }, undefined, "release", "plain token"],
  ["an empty token", { release: " " }, undefined, "release", "not empty"],
  ["a token of two lines", { release: "a\nb" }, undefined, "release", "one line"],
  ["a timeout of nothing", { timeoutSeconds: 0 }, undefined, "timeoutSeconds", "1 to 86400"],
  ["an object name that is none", { config: "Roll_1" }, undefined, "config", "small letters"],
  ["a wrong word", { skipAwait: "ignore" as any }, undefined, "skipAwait", '"refuse" or "remove"'],
] as [string, ManagedEtcdArgs, ((s: any) => void) | undefined, string, string][]) {
  test(`refused: ${what}`, async () => {
    await assert.rejects(async () => transformed(args, manifest(change)), (error: Error) => {
      assert.ok(error instanceof Refusal, `${error}`);
      assert.ok(error.field.includes(field), error.field);
      assert.ok(error.remedy.includes(remedy), error.remedy);
      assert.equal(error.message, `${error.where}: ${error.field} ${error.problem}; ${error.remedy}`);
      return true;
    });
  });
}

test("refused later: a token that is known later ends the program", () => {
  const program = `
    const { managedEtcdManifest } = require(${JSON.stringify(join(__dirname, "..", "src"))});
    const release = require("@pulumi/pulumi").output("a=b");
    managedEtcdManifest({ release })({ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "etcd" }, spec: {} }, {});`;
  const run = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
  assert.notEqual(run.status, 0);
  assert.match(run.stderr, /managedEtcd: release holds "="/);
});

test("a parsed manifest is changed in place", async () => {
  const set = manifest();
  const opts: pulumi.CustomResourceOptions = {};
  managedEtcdManifest({ name: "etcd", leavePartition: true })(set, opts);
  assert.equal((await valueOf<any>(set)).metadata.annotations["pulumi.com/waitFor"], waitFor());
  assert.equal(set.spec.updateStrategy.rollingUpdate.partition, 3);
  assert.deepEqual(opts.ignoreChanges, ["spec.updateStrategy.rollingUpdate.partition"]);
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "etcd" } };
  managedEtcdManifest({ name: "etcd" })(service, {});
  assert.deepEqual(service, { apiVersion: "v1", kind: "Service", metadata: { name: "etcd" } });
});

test("a set in code registers what the transform made of it", async () => {
  const registered = await mocked();
  const { metadata, spec } = manifest();
  const set = new k8s.apps.v1.StatefulSet("etcd", { metadata, spec }, { transformations: [managedEtcd()] });
  await valueOf(set.id);
  const inputs = registered.find((r) => r.type === type)?.inputs;
  assert.equal(inputs.metadata.labels["etcdroll.dev/managed"], "true");
  assert.equal(inputs.spec.updateStrategy.rollingUpdate.partition, 3);
});
