import * as pulumi from "@pulumi/pulumi";
import assert from "node:assert/strict";
import { test } from "node:test";
import { EtcdRollingUpgrade, EtcdRollingUpgradeArgs, Refusal, waitFor } from "../src";
import { mocked, Registered, valueOf } from "./mocks";

const least: EtcdRollingUpgradeArgs = { stsName: "etcd", namespace: "store", versionHash: "v1" };

async function made(args: EtcdRollingUpgradeArgs): Promise<{ registered: Registered[]; upgrade: EtcdRollingUpgrade }> {
  const registered = await mocked();
  const upgrade = new EtcdRollingUpgrade("roll", args);
  await valueOf(upgrade.release);
  return { registered, upgrade };
}

const configOf = (registered: Registered[]) => registered.find((r) => r.type === "kubernetes:core/v1:ConfigMap")!.inputs;
const patchOf = (registered: Registered[]) => registered.find((r) => r.type === "kubernetes:apps/v1:StatefulSetPatch")!.inputs;

test("it makes a ConfigMap and a patch, and neither Job, account, role nor script", async () => {
  const { registered } = await made(least);
  assert.deepEqual(registered.map((r) => r.type).sort(), [
    "etcdroll:index:EtcdRollingUpgrade",
    "kubernetes:apps/v1:StatefulSetPatch",
    "kubernetes:core/v1:ConfigMap",
  ]);
});

test("the patch opts in, names the ConfigMap and waits for the token", async () => {
  const { registered, upgrade } = await made(least);
  assert.deepEqual(patchOf(registered).metadata, {
    name: "etcd",
    namespace: "store",
    labels: { "etcdroll.dev/managed": "true" },
    annotations: {
      "etcdroll.dev/config": await valueOf(upgrade.configMapName),
      "etcdroll.dev/release": "v1",
      "pulumi.com/waitFor": waitFor("v1"),
    },
  });
  assert.equal(patchOf(registered).spec, undefined, "template, replicas and partition are the owner's");
  assert.equal(await valueOf(upgrade.release), "v1");
});

test("what is left out is left to etcdroll", async () => {
  const { registered } = await made(least);
  assert.equal(configOf(registered).data["config.yaml"], 'stsName: "etcd"\nnamespace: "store"\n');
  assert.equal(configOf(registered).immutable, true);
  assert.deepEqual(configOf(registered).metadata, { namespace: "store" }, "named by Pulumi, so that another configuration is another ConfigMap");
});

test("all arguments of the Job's component are taken", async () => {
  const { registered } = await made({
    stsName: pulumi.output("etcd"),
    namespace: pulumi.output("store"),
    serviceName: "etcd-headless",
    clientPort: pulumi.output(2379),
    tls: { enabled: true, caFile: "/tls/ca.crt", certFile: "/tls/tls.crt", keyFile: "/tls/tls.key" },
    versionHash: pulumi.output("9f86d081"),
    cooldownSeconds: 10,
    readyTimeoutSeconds: 200,
    healthTimeoutSeconds: 50,
  });
  assert.equal(configOf(registered).data["config.yaml"], [
    'stsName: "etcd"',
    'namespace: "store"',
    'serviceName: "etcd-headless"',
    "clientPort: 2379",
    "tls:",
    "  enabled: true",
    '  caFile: "/tls/ca.crt"',
    '  certFile: "/tls/tls.crt"',
    '  keyFile: "/tls/tls.key"',
    "cooldownSeconds: 10",
    "readyTimeoutSeconds: 200",
    "healthTimeoutSeconds: 50",
    "",
  ].join("\n"));
  assert.equal(patchOf(registered).metadata.annotations["etcdroll.dev/release"], "9f86d081");
});

test("it waits for what it depends on", async () => {
  await mocked();
  let up = false;
  const sts = new pulumi.ComponentResource("test:index:Set", "set");
  const slow = new Promise<pulumi.Resource>((resolve) => setImmediate(() => ((up = true), resolve(sts))));
  const upgrade = new EtcdRollingUpgrade("roll", { ...least, dependsOnSts: slow });
  await valueOf(upgrade.release);
  assert.ok(up);
});

for (const [field, args, remedy] of [
  ["stsName", { stsName: "" }, "name of an object"],
  ["stsName", { stsName: undefined as any }, "name of an object"],
  ["namespace", { namespace: "Store" }, "small letters"],
  ["serviceName", { serviceName: "a b" }, "small letters"],
  ["clientPort", { clientPort: 0 }, "1 to 65535"],
  ["clientPort", { clientPort: "2379" as any }, "whole number"],
  ["tls.enabled", { tls: { enabled: "yes" as any } }, "true or false"],
  ["tls.caFile", { tls: { enabled: true, caFile: "" } }, "not empty"],
  ["versionHash", { versionHash: "aGFzaA==" }, "hexadecimal"],
  ["versionHash", { versionHash: "x".repeat(257) }, "hash of it"],
  ["cooldownSeconds", { cooldownSeconds: -1 }, "0 to 86400"],
  ["readyTimeoutSeconds", { readyTimeoutSeconds: 0 }, "1 to 86400"],
  ["healthTimeoutSeconds", { healthTimeoutSeconds: 1.5 }, "whole number"],
  ["timeoutSeconds", { timeoutSeconds: 1e6 }, "1 to 86400"],
] as [string, Partial<EtcdRollingUpgradeArgs>, string][]) {
  test(`refused: ${field} ${JSON.stringify(args).slice(0, 40)}`, async () => {
    await mocked();
    assert.throws(() => new EtcdRollingUpgrade("roll", { ...least, ...args }), (error: Error) => {
      assert.ok(error instanceof Refusal, `${error}`);
      assert.equal(error.field, field);
      assert.ok(error.remedy.includes(remedy), error.remedy);
      assert.match(error.message, /^EtcdRollingUpgrade roll: /);
      return true;
    });
  });
}
