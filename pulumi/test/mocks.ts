import * as pulumi from "@pulumi/pulumi";

/** What a program registered. */
export interface Registered {
  type: string;
  name: string;
  inputs: any;
}

/** Takes the place of the engine; every resource gets an id and its inputs back. */
export async function mocked(preview = false): Promise<Registered[]> {
  const registered: Registered[] = [];
  await pulumi.runtime.setMocks({
    newResource: ({ type, name, inputs }) => {
      registered.push({ type, name, inputs });
      const autonamed = { ...inputs, metadata: { ...inputs.metadata, name: inputs.metadata?.name ?? `${name}-1a2b3c` } };
      return { id: `${name}-id`, state: autonamed };
    },
    call: ({ inputs }) => inputs,
  }, "project", "stack", preview);
  return registered;
}

/** The value of an output, once it is known. */
export function valueOf<T>(output: pulumi.Input<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const found = pulumi.output(output).apply((value) => resolve(value as T)) as unknown as { promise(): Promise<unknown> };
    found.promise().catch(reject);
  });
}
