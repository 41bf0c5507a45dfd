import * as pulumi from "@pulumi/pulumi";
import { checked, checkedIfGiven, objectName, oneLine, truth, wholeNumber } from "./checks";

/** How members serve clients. The paths are paths inside the etcd pod. */
export interface TlsArgs {
  /** Members serve clients over TLS. */
  enabled: pulumi.Input<boolean>;
  /** Path of the certificate authority to trust. Default: taken from etcd's arguments. */
  caFile?: pulumi.Input<string>;
  /** Path of the client certificate. Default: taken from etcd's arguments. */
  certFile?: pulumi.Input<string>;
  /** Path of its key. Default: taken from etcd's arguments. */
  keyFile?: pulumi.Input<string>;
}

/** What becomes `config.yaml`. */
export interface ConfigurationArgs {
  /** Name of the StatefulSet. */
  stsName: pulumi.Input<string>;
  /** Its namespace. */
  namespace: pulumi.Input<string>;
  /** Its governing service. Default: taken from the set. */
  serviceName?: pulumi.Input<string>;
  /** Client port of every member: 1 to 65535. Default: taken from the set, else 2379. */
  clientPort?: pulumi.Input<number>;
  /** How members serve clients. Default: taken from the set. */
  tls?: TlsArgs;
  /** Seconds that a pod is Ready before the next step: 0 to 86400. Default: 30. */
  cooldownSeconds?: pulumi.Input<number>;
  /** Seconds from a pod's release to Ready: 1 to 86400. Default: 300. */
  readyTimeoutSeconds?: pulumi.Input<number>;
  /** Seconds from Ready to a healthy member: 1 to 86400. Default: 60. */
  healthTimeoutSeconds?: pulumi.Input<number>;
}

const most = 86400;

/**
 * The text of `config.yaml`. What is left out is left to etcdroll.
 *
 * @param where names the resource in messages.
 * @throws Refusal, at once or when a value becomes known.
 */
export function configuration(where: string, args: ConfigurationArgs): pulumi.Output<string> {
  const tls = args.tls;
  return pulumi
    .output({
      stsName: checked(where, "stsName", args.stsName, objectName),
      namespace: checked(where, "namespace", args.namespace, objectName),
      serviceName: checkedIfGiven(where, "serviceName", args.serviceName, objectName),
      clientPort: checkedIfGiven(where, "clientPort", args.clientPort, wholeNumber(1, 65535)),
      tls: tls && {
        enabled: checked(where, "tls.enabled", tls.enabled, truth),
        caFile: checkedIfGiven(where, "tls.caFile", tls.caFile, oneLine),
        certFile: checkedIfGiven(where, "tls.certFile", tls.certFile, oneLine),
        keyFile: checkedIfGiven(where, "tls.keyFile", tls.keyFile, oneLine),
      },
      cooldownSeconds: checkedIfGiven(where, "cooldownSeconds", args.cooldownSeconds, wholeNumber(0, most)),
      readyTimeoutSeconds: checkedIfGiven(where, "readyTimeoutSeconds", args.readyTimeoutSeconds, wholeNumber(1, most)),
      healthTimeoutSeconds: checkedIfGiven(where, "healthTimeoutSeconds", args.healthTimeoutSeconds, wholeNumber(1, most)),
    })
    .apply((values) => yaml(values, ""));
}

/** Writes an object of texts, numbers, truths and such objects; JSON's scalars are YAML's. */
function yaml(values: object, indent: string): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) =>
      typeof value === "object" ? `${indent}${key}:\n${yaml(value, indent + "  ")}` : `${indent}${key}: ${JSON.stringify(value)}\n`)
    .join("");
}
