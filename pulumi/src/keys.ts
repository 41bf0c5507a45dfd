/** Label by which a StatefulSet opts in. It belongs on the set, never in its pod template. */
export const managedLabel = "etcdroll.dev/managed";

/** Annotation that names the ConfigMap with the key `config.yaml`. */
export const configAnnotation = "etcdroll.dev/config";

/** Annotation with the release token that is awaited. */
export const releaseAnnotation = "etcdroll.dev/release";

/** Annotation to which the release token is copied once this apply has converged. */
export const convergedAnnotation = "etcdroll.dev/converged";

/** Annotation with the update revision that is converged and locked. */
export const convergedRevisionAnnotation = "etcdroll.dev/converged-revision";

/** Key of the ConfigMap under which the configuration lies. */
export const configKey = "config.yaml";

/** Annotation with the condition that Pulumi waits for instead of its built-in one. */
export const waitForAnnotation = "pulumi.com/waitFor";

/** Annotation with the seconds that Pulumi waits. */
export const timeoutAnnotation = "pulumi.com/timeoutSeconds";

/** Annotation that makes Pulumi wait for nothing. */
export const skipAwaitAnnotation = "pulumi.com/skipAwait";
