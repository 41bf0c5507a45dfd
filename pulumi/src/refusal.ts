import * as pulumi from "@pulumi/pulumi";

/**
 * An argument that cannot be used. The message names the field, says what is
 * wrong with it and what to do. Pulumi prints it without a stack trace.
 */
export class Refusal extends pulumi.RunError {
  /**
   * @param where the resource or function that got the argument.
   * @param field path of the argument or manifest field.
   * @param problem what is wrong, as the end of a sentence that starts with the field.
   * @param remedy what to do about it, as an instruction.
   */
  constructor(
    readonly where: string,
    readonly field: string,
    readonly problem: string,
    readonly remedy: string,
  ) {
    super(`${where}: ${field} ${problem}; ${remedy}`);
  }
}
