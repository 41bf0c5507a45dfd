import * as pulumi from "@pulumi/pulumi";
import { atHand } from "./checks";
import {
  configAnnotation,
  managedLabel,
  releaseAnnotation,
  skipAwaitAnnotation,
  timeoutAnnotation,
  waitForAnnotation,
} from "./keys";
import { Refusal } from "./refusal";
import { waitFor } from "./waiting";

/** Properties of a StatefulSet, as code or YAML has them. */
export type Props = Record<string, unknown>;

type Text = Record<string, string>;

/** What is to be set on a StatefulSet; everything in it has been checked. */
export interface Marks {
  config?: pulumi.Input<string>;
  release?: pulumi.Input<string>;
  timeoutSeconds: pulumi.Input<number>;
  wait: boolean;
  removeSkipAwait: boolean;
}

/**
 * The properties of a managed set: opted in, locked, and with what Pulumi waits
 * for. Fields that are nobody's business here stay as they are, known or not.
 *
 * @param where names the set in messages.
 * @throws Refusal, at once or when a value becomes known.
 */
export function managed(where: string, props: Props, marks: Marks): Props {
  const metadata = later(props.metadata, (m) => managedMetadata(where, m ?? {}, marks));
  const spec = later(props.spec, (s) => lockedSpec(where, s ?? {}));
  return { ...props, metadata, spec };
}

function managedMetadata(where: string, metadata: Props, marks: Marks): Props {
  return {
    ...metadata,
    labels: later(metadata.labels, (labels) => ({ ...labels, [managedLabel]: "true" })),
    annotations: later(metadata.annotations, (annotations) => annotated(where, (annotations ?? {}) as Text, marks)),
  };
}

function annotated(where: string, present: Text, marks: Marks): Props {
  const { [skipAwaitAnnotation]: skipped, ...rest } = present;
  const annotations: Props = { ...rest };
  if (marks.config !== undefined) {
    annotations[configAnnotation] = marks.config;
  }
  if (marks.release !== undefined) {
    annotations[releaseAnnotation] = marks.release;
  }
  if (!marks.wait) {
    return { ...annotations, ...(skipped === undefined ? {} : { [skipAwaitAnnotation]: skipped }) };
  }
  if (skipped === "true" && !marks.removeSkipAwait) {
    throw new Refusal(where, `annotation ${skipAwaitAnnotation}`, 'is "true", so that Pulumi would wait for nothing',
      'remove it from the manifest, or pass skipAwait: "remove"');
  }
  annotations[waitForAnnotation] = awaited(where, present[waitForAnnotation], marks.release);
  annotations[timeoutAnnotation] = pulumi.output(marks.timeoutSeconds).apply(String);
  return annotations;
}

function awaited(where: string, present: string | undefined, release: pulumi.Input<string> | undefined): pulumi.Input<string> {
  const ours = release === undefined || atHand(release) ? waitFor(release) : pulumi.output(release).apply(waitFor);
  if (present !== undefined && present !== ours) {
    throw new Refusal(where, `annotation ${waitForAnnotation}`, "is set to something else already",
      "remove it from the manifest, or pass wait: false to keep it");
  }
  return ours;
}

function lockedSpec(where: string, spec: Props): Props {
  const inputs = { replicas: spec.replicas ?? 1, present: (spec.updateStrategy ?? {}) as Props };
  // What is at hand stays at hand, so that a preview shows it whatever else is unknown.
  const updateStrategy = plain(inputs)
    ? lockedStrategy(where, inputs.replicas, inputs.present)
    : pulumi.output(inputs).apply(({ replicas, present }) => lockedStrategy(where, replicas, present as Props));
  return { ...spec, updateStrategy };
}

function lockedStrategy(where: string, replicas: unknown, present: Props): Props {
  if (!Number.isInteger(replicas) || (replicas as number) < 1) {
    throw new Refusal(where, "spec.replicas", `is ${JSON.stringify(replicas)}`, "give the number of members, 1 or more");
  }
  if (present.type === "OnDelete") {
    return present; // etcdroll deletes pods itself; there is no partition and nothing to lock
  }
  const rolling = (present.rollingUpdate ?? {}) as Props;
  if (rolling.maxUnavailable !== undefined && rolling.maxUnavailable !== 1) {
    throw new Refusal(where, "spec.updateStrategy.rollingUpdate.maxUnavailable", `is ${JSON.stringify(rolling.maxUnavailable)}`,
      "remove it or set it to 1: etcdroll gives up one member at a time");
  }
  return { ...present, type: "RollingUpdate", rollingUpdate: { ...rolling, partition: replicas } };
}

/** Edits a value at once if it is at hand, else when it is known. */
function later(value: unknown, edit: (value: Props | undefined) => Props): unknown {
  const input = value as pulumi.Input<Props | undefined>;
  return atHand(input) ? edit(input) : pulumi.output(input).apply((known) => edit(known as Props | undefined));
}

/** Says that nothing in the value is yet to be found out. */
function plain(value: unknown): boolean {
  if (!atHand(value)) {
    return false;
  }
  return value === null || typeof value !== "object" || Object.values(value).every(plain);
}
