import { expect } from '@jest/globals';
import { Interface } from 'ethers';
import { deployArtifacts } from '../index.js';

const errors = new Interface(
  Object.values(deployArtifacts).flatMap(({ abi }) => [...abi].filter(({ type }) => type === 'error')),
);

/** Waits for the revert and compares its named error, and the arguments if given. */
export async function expectRevert(call: Promise<unknown>, name: string, args?: unknown[]): Promise<void> {
  const data = await call.then(
    () => 'it did not revert',
    (error: { data?: string; error?: { data?: string } }) => error.data ?? error.error?.data ?? String(error),
  );
  const parsed = data.startsWith('0x') ? errors.parseError(data) : null;
  expect(parsed?.name ?? data).toBe(name);
  if (args !== undefined) expect(parsed?.args.toArray()).toEqual(args);
}
