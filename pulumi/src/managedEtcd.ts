import * as pulumi from "@pulumi/pulumi";
import { atHand, checked, checkedIfGiven, objectName, releaseToken, wholeNumber } from "./checks";
import { Refusal } from "./refusal";
import { managed, Marks, Props } from "./statefulSet";
import { defaultTimeoutSeconds } from "./waiting";

/** Arguments of {@link managedEtcd}. All are optional. */
export interface ManagedEtcdArgs {
  /**
   * `metadata.name` of the StatefulSet. Give it where the transform sees more
   * than one, as on a chart; without it every StatefulSet that it sees is managed.
   */
  name?: string;
  /** Namespace of the StatefulSet, if the name alone does not tell which one is meant. */
  namespace?: string;
  /**
   * Name of a ConfigMap in the set's namespace with the key `config.yaml`. Left
   * out, everything is derived from the set.
   */
  config?: pulumi.Input<string>;
  /**
   * Release token, copied to `etcdroll.dev/converged` when this apply has
   * converged. Not needed for waiting; it tells people and other tools which
   * apply they look at. It may hold no `=`.
   */
  release?: pulumi.Input<string>;
  /** Seconds to wait for convergence: 1 to 86400. Default: 1800. */
  timeoutSeconds?: number;
  /**
   * What to do about `pulumi.com/skipAwait: "true"` in the manifest, which would
   * make Pulumi wait for nothing. Default: `refuse`, an error that names it.
   */
  skipAwait?: "refuse" | "remove";
  /**
   * False leaves Pulumi's waiting alone, for a set that {@link EtcdRollingUpgrade}
   * waits for. Default: true.
   */
  wait?: boolean;
  /**
   * True leaves the partition to etcdroll once the set exists, so that an update
   * in the middle of a roll, or one that repeats an interrupted one, passes.
   *
   * Otherwise every update declares the lock, and one that comes while a pod is
   * released ends with an apply conflict that names `etcdroll` and changes
   * nothing. Do not set this in the update by which an existing, unlocked set is
   * adopted: Pulumi would then keep the old partition instead of locking it.
   *
   * Default: false.
   */
  leavePartition?: boolean;
}

/** A function for `transforms` as well as for the older `transformations` of a resource. */
export type SetTransform = (
  args: Pick<pulumi.ResourceTransformArgs, "type" | "name" | "props" | "opts">,
) => pulumi.ResourceTransformResult | undefined;

/** Type of a StatefulSet in Pulumi. */
const statefulSetType = "kubernetes:apps/v1:StatefulSet";

/** The path that is left to etcdroll. */
const partitionPath = "spec.updateStrategy.rollingUpdate.partition";

/**
 * A transform that hands a StatefulSet to etcdroll: it opts in, is locked
 * (`partition = replicas`), and `pulumi up` returns when the set has converged.
 *
 * It goes into `transforms` of a StatefulSet, of `ConfigFile`, `ConfigGroup`,
 * `Chart` or `Directory`, or of a stack.
 *
 * @throws Refusal if an argument or the manifest cannot be used.
 *
 * @example
 * ```ts
 * new k8s.yaml.v2.ConfigFile("etcd", { file: "etcd.yaml" }, { transforms: [managedEtcd({ name: "etcd" })] });
 * ```
 */
export function managedEtcd(args: ManagedEtcdArgs = {}): SetTransform {
  const marks = checkedMarks(args);
  return ({ type, name, props, opts }) => {
    if (type !== statefulSetType || !meant(args, props, name)) {
      return undefined;
    }
    return { props: managed(`StatefulSet ${name}`, props, marks), opts: options(args, opts) };
  };
}

/**
 * The same as {@link managedEtcd} for the `transformations` of `ConfigFile`,
 * `ConfigGroup` and `Chart` in the older packages `yaml` and `helm.v3`, which
 * hand over the parsed manifest.
 *
 * @throws Refusal if an argument or the manifest cannot be used.
 *
 * @example
 * ```ts
 * new k8s.yaml.ConfigFile("etcd", { file: "etcd.yaml", transformations: [managedEtcdManifest({ name: "etcd" })] });
 * ```
 */
export function managedEtcdManifest(args: ManagedEtcdArgs = {}): (object: any, opts: pulumi.CustomResourceOptions) => void {
  const marks = checkedMarks(args);
  return (object, opts) => {
    if (object?.kind !== "StatefulSet" || object.apiVersion !== "apps/v1" || !meant(args, object, "")) {
      return;
    }
    Object.assign(object, managed(`StatefulSet ${object.metadata?.name}`, object, marks));
    Object.assign(opts, options(args, opts));
  };
}

function checkedMarks(args: ManagedEtcdArgs): Marks {
  const where = "managedEtcd";
  checkedIfGiven(where, "name", args.name, objectName);
  checkedIfGiven(where, "namespace", args.namespace, objectName);
  if (args.skipAwait !== undefined && args.skipAwait !== "refuse" && args.skipAwait !== "remove") {
    throw new Refusal(where, "skipAwait", `is ${JSON.stringify(args.skipAwait)}`, 'give "refuse" or "remove"');
  }
  return {
    config: checkedIfGiven(where, "config", args.config, objectName),
    release: checkedIfGiven(where, "release", args.release, releaseToken),
    timeoutSeconds: checked(where, "timeoutSeconds", args.timeoutSeconds ?? defaultTimeoutSeconds, wholeNumber(1, 86400)),
    wait: args.wait ?? true,
    removeSkipAwait: args.skipAwait === "remove",
  };
}

/** Says whether this is the set that the arguments name. */
function meant(args: ManagedEtcdArgs, props: Props, resource: string): boolean {
  return names(args.name, "name", props, resource) && names(args.namespace, "namespace", props, resource);
}

function names(wanted: string | undefined, field: "name" | "namespace", props: Props, resource: string): boolean {
  if (wanted === undefined) {
    return true;
  }
  const metadata = props.metadata ?? {};
  const present = atHand(metadata) ? (metadata as Props)[field] : metadata;
  if (!atHand(present)) {
    throw new Refusal(`StatefulSet ${resource}`, `metadata.${field}`, `is not known yet, so that it cannot be compared with "${wanted}"`,
      `put the transform on the StatefulSet itself and leave ${field} out`);
  }
  return (present ?? (field === "name" ? resource : undefined)) === wanted;
}

function options(args: ManagedEtcdArgs, opts: pulumi.ResourceOptions): pulumi.ResourceOptions {
  return args.leavePartition ? { ...opts, ignoreChanges: [...(opts.ignoreChanges ?? []), partitionPath] } : opts;
}
