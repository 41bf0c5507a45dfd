import * as pulumi from "@pulumi/pulumi";
import { Refusal } from "./refusal";

/** Says what is wrong with a value and what to do, or nothing. */
export type Rule<T> = (value: T) => { problem: string; remedy: string } | undefined;

/** Tells a value that is at hand from one that Pulumi has yet to find out. */
export function atHand<T>(input: pulumi.Input<T>): input is T {
  return !pulumi.Output.isInstance(input) && !(input instanceof Promise);
}

/**
 * Applies a rule: at once if the value is at hand, else when it is known.
 *
 * @throws Refusal
 */
export function checked<T>(where: string, field: string, input: pulumi.Input<T>, rule: Rule<T>): pulumi.Input<T> {
  const check = (value: T): T => {
    const found = rule(value);
    if (found) {
      throw new Refusal(where, field, found.problem, found.remedy);
    }
    return value;
  };
  return atHand(input) ? check(input) : pulumi.output(input).apply((value) => check(value as T));
}

/** Like {@link checked}, for an argument that may be left out. */
export function checkedIfGiven<T>(
  where: string,
  field: string,
  input: pulumi.Input<T> | undefined,
  rule: Rule<T>,
): pulumi.Input<T> | undefined {
  return input === undefined ? undefined : checked(where, field, input, rule);
}

/** Text of one line that is not empty. */
export const oneLine: Rule<string> = (value) => {
  if (typeof value !== "string" || value.trim() === "") {
    return { problem: `is ${show(value)}`, remedy: "give a text that is not empty" };
  }
  return /[\r\n]/.test(value) ? { problem: "holds a line break", remedy: "give a text of one line" } : undefined;
};

/** Name of an object in Kubernetes. */
export const objectName: Rule<string> = (value) =>
  typeof value === "string" && value.length <= 253 && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(value)
    ? undefined
    : { problem: `is ${show(value)}`, remedy: "give the name of an object in Kubernetes: small letters, digits, dashes and dots" };

/** The longest release token that etcdroll accepts, in characters. */
const longestToken = 256;

/** A token that a wait expression can compare. */
export const releaseToken: Rule<string> = (value) => {
  const found = oneLine(value);
  if (found) {
    return found;
  }
  if (value.includes("=")) {
    return { problem: `holds "=": ${show(value)}`, remedy: "give a plain token such as a commit hash or a hash in hexadecimal digits" };
  }
  return value.length > longestToken
    ? { problem: `has more than ${longestToken} characters`, remedy: "give a hash of it" }
    : undefined;
};

/** Whole number within bounds, both included. */
export function wholeNumber(least: number, most: number): Rule<number> {
  return (value) =>
    Number.isInteger(value) && value >= least && value <= most
      ? undefined
      : { problem: `is ${show(value)}`, remedy: `give a whole number from ${least} to ${most}` };
}

/** True or false. */
export const truth: Rule<boolean> = (value) =>
  typeof value === "boolean" ? undefined : { problem: `is ${show(value)}`, remedy: "give true or false" };

function show(value: unknown): string {
  return value === undefined ? "missing" : JSON.stringify(value).slice(0, 80);
}
