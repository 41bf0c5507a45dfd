import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checked, releaseToken, wholeNumber } from "./checks";
import { configuration, ConfigurationArgs } from "./configuration";
import { configAnnotation, configKey, managedLabel, releaseAnnotation, waitForAnnotation } from "./keys";
import { defaultTimeoutSeconds, waitFor } from "./waiting";

/** Arguments of {@link EtcdRollingUpgrade}: those of the component that ran a shell script in a Job. */
export interface EtcdRollingUpgradeArgs extends ConfigurationArgs {
  /**
   * Changes whenever the template of the set does: a hash of the manifest or of
   * the versions in it. It is the release token that is awaited, so it may hold
   * no `=` and at most 256 characters.
   */
  versionHash: pulumi.Input<string>;
  /** What has to be up to date before: the StatefulSet, or the chart or file that it comes from. */
  dependsOnSts?: pulumi.Input<pulumi.Input<pulumi.Resource>[]> | pulumi.Input<pulumi.Resource>;
  /** Seconds to wait for convergence: 1 to 86400. Default: 1800. */
  timeoutSeconds?: number;
}

/**
 * Waits until a StatefulSet that this resource does not own has been rolled by
 * etcdroll.
 *
 * It makes the ConfigMap with the configuration, and a patch of the set: the
 * label that opts in, the name of the ConfigMap, the release token, and what
 * Pulumi waits for. There is no Job, no ServiceAccount, no Role and no script;
 * the trigger and the function of etcdroll have to be installed in the cluster.
 *
 * The provider must use server-side apply, which is its default. Deleting the
 * resource takes all of it off the set again, which stays locked.
 *
 * @example
 * ```ts
 * new EtcdRollingUpgrade("etcd", {
 *   stsName: "etcd", namespace: "etcd", serviceName: "etcd", clientPort: 2379,
 *   versionHash: hashOfTheManifest, dependsOnSts: manifests,
 * });
 * ```
 */
export class EtcdRollingUpgrade extends pulumi.ComponentResource {
  /** Name of the ConfigMap. Its content never changes; another configuration is another ConfigMap. */
  readonly configMapName: pulumi.Output<string>;
  /** The release token that has converged when this is known. */
  readonly release: pulumi.Output<string>;

  /**
   * @param name name of the resource.
   * @param args see {@link EtcdRollingUpgradeArgs}.
   * @param opts options of a component; `provider` applies to all that it makes.
   * @throws Refusal if an argument cannot be used.
   */
  constructor(name: string, args: EtcdRollingUpgradeArgs, opts?: pulumi.ComponentResourceOptions) {
    // Before anything is registered, so that a refused argument leaves nothing half made.
    const where = `EtcdRollingUpgrade ${name}`;
    const token = checked(where, "versionHash", args.versionHash, releaseToken);
    const seconds = checked(where, "timeoutSeconds", args.timeoutSeconds ?? defaultTimeoutSeconds, wholeNumber(1, 86400));
    const text = configuration(where, args);
    super("etcdroll:index:EtcdRollingUpgrade", name, {}, opts);
    const config = new k8s.core.v1.ConfigMap(`${name}-config`, {
      metadata: { namespace: args.namespace },
      immutable: true,
      data: { [configKey]: text },
    }, { parent: this });
    this.configMapName = config.metadata.name;
    const set = new k8s.apps.v1.StatefulSetPatch(`${name}-release`, patch(args, this.configMapName, token),
      { parent: this, dependsOn: args.dependsOnSts, customTimeouts: { create: `${seconds}s`, update: `${seconds}s` } });
    this.release = pulumi.all([token, set.id]).apply(([known]) => known);
    this.registerOutputs({ configMapName: this.configMapName, release: this.release });
  }
}

/** What is put on the set. Template, replicas and partition stay its owner's. */
function patch(args: EtcdRollingUpgradeArgs, config: pulumi.Input<string>, token: pulumi.Input<string>): k8s.apps.v1.StatefulSetPatchArgs {
  return {
    metadata: {
      name: args.stsName,
      namespace: args.namespace,
      labels: { [managedLabel]: "true" },
      annotations: {
        [configAnnotation]: config,
        [releaseAnnotation]: token,
        [waitForAnnotation]: pulumi.output(token).apply(waitFor),
      },
    },
  };
}
