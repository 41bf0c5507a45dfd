import { convergedAnnotation } from "./keys";

/**
 * What to wait for without a release token: the set's present update revision
 * is converged and the set is locked again. It selects the annotations, and only
 * if both sides of the comparison exist: missing equals missing would be true.
 */
export const untilRevisionConverged =
  "jsonpath={.metadata[?@['etcdroll.dev/converged-revision'] && @['etcdroll.dev/converged-revision'] == $.status.updateRevision]}";

/**
 * What to wait for with a release token: the token is marked as converged.
 *
 * @param token the value of `etcdroll.dev/release`; it may hold no `=`.
 */
export function untilTokenConverged(token: string): string {
  return `jsonpath={.metadata.annotations['${convergedAnnotation}']}=${token}`;
}

/**
 * The value of `pulumi.com/waitFor`. With a token both conditions have to hold,
 * so that a token that somebody forgot to change ends no wait too early.
 *
 * @param token the release token, if there is one.
 */
export function waitFor(token?: string): string {
  return token === undefined ? untilRevisionConverged : JSON.stringify([untilTokenConverged(token), untilRevisionConverged]);
}

/** How long to wait unless told otherwise, in seconds. Pulumi's own default of ten minutes is short for a roll. */
export const defaultTimeoutSeconds = 1800;
