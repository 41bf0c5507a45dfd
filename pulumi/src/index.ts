export type { ConfigurationArgs, TlsArgs } from "./configuration";
export { EtcdRollingUpgrade } from "./etcdRollingUpgrade";
export type { EtcdRollingUpgradeArgs } from "./etcdRollingUpgrade";
export { managedEtcd, managedEtcdManifest } from "./managedEtcd";
export type { ManagedEtcdArgs, SetTransform } from "./managedEtcd";
export { Refusal } from "./refusal";
export { defaultTimeoutSeconds, untilRevisionConverged, untilTokenConverged, waitFor } from "./waiting";
