import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const stack = z.object({
  baseUrl: z.string(),
  kafkaBrokers: z.union([z.string(), z.array(z.string()).transform((brokers) => brokers.join(','))]),
  rpcUrl: z.string(),
  chainId: z.number(),
  serviceName: z.string(),
  limitOrderProtocol: z.string(),
  navigator: z.string(),
  tokens: z.array(z.object({ symbol: z.string(), address: z.string(), decimals: z.number() })).min(2),
  /** None on a chain that is not the stack's own. */
  pools: z.array(z.object({ address: z.string(), tokens: z.tuple([z.string(), z.string()]) })).default([]),
  quoteSigners: z.array(z.string()).default([]),
});

/** What runs where, as the start of the local stack has written it down. */
export type Stack = z.infer<typeof stack>;

/** @throws Error that says how to start the stack, when there is none in the data folder */
export function readStack(dataFolder: string): Stack {
  const file = join(dataFolder, 'stack.json');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new Error(`no stack runs here (${file} is missing): start it with \`npm start\` and leave it running`);
  }
  const parsed = stack.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${file} is not as expected: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
