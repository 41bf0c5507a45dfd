// Brings a stack up with the npm package, through Pulumi's Automation API: the
// program runs in this process, so that no language host is needed. What to do
// comes as JSON in the first argument.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const home = join(__dirname, "..", "..", "..", "pulumi");
const load = (name) => require(require.resolve(name, { paths: [home] }));

const automation = load("@pulumi/pulumi/automation");
const k8s = load("@pulumi/kubernetes");
const { managedEtcd, managedEtcdManifest, EtcdRollingUpgrade } = require(home);

const want = JSON.parse(process.argv[2]);
const manifest = readFileSync(want.manifest, "utf8");

const programs = {
  /** The transform of today, on components that the provider itself expands. */
  transforms: () => {
    new k8s.yaml.v2.ConfigGroup("etcd", { yaml: manifest }, { transforms: [managedEtcd(want.args)] });
  },

  /** The transformation of the older packages, on the parsed manifest. */
  transformations: () => {
    new k8s.yaml.ConfigGroup("etcd", { yaml: manifest, transformations: [managedEtcdManifest(want.args)] });
  },

  /** A locked set whose owner waits for nothing, as beside the shell rollout's Job. */
  owner: () =>
    new k8s.yaml.ConfigGroup("etcd", {
      yaml: manifest,
      transformations: [(object) => {
        if (object.kind === "StatefulSet") {
          object.metadata.annotations = { "pulumi.com/skipAwait": "true" };
          object.spec.updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: object.spec.replicas } };
        }
      }],
    }),

  /** The same, with the component in the place of the Job's. */
  component: () => {
    const manifests = programs.owner();
    const upgrade = new EtcdRollingUpgrade("etcd", { ...want.args, dependsOnSts: manifests });
    return { release: upgrade.release, config: upgrade.configMapName };
  },
};

// A Ctrl-C reaches Pulumi too, which ends the update; its end is awaited.
process.on("SIGINT", () => {});

async function main() {
  const stack = await automation.LocalWorkspace.createOrSelectStack(
    { stackName: "dev", projectName: "etcd", program: async () => programs[want.program]() },
    { workDir: want.dir },
  );
  const result = await stack.up({ onOutput: (text) => process.stdout.write(text) });
  console.log(JSON.stringify(result.summary.resourceChanges));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
