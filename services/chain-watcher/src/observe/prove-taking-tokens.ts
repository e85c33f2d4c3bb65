import type { Holder } from './holder.js';
import { type MakerReader, readCodes } from './read-makers.js';

const TOKENS_MAX = 40;

/**
 * Checks taking tokens that are not known to have code, starting with those checked longest ago. Has a token's orders
 * read again if it has code now, or if it has none and an older log may hold its orders as ACTIVE.
 */
export async function proveTakingTokens(
  {
    watched,
    position: { matched },
    readingBlocks,
    monotonicMs,
  }: Holder<'watched' | 'position' | 'readingBlocks' | 'monotonicMs'>,
  reader: MakerReader,
): Promise<void> {
  if (matched === undefined) return;
  const tokens = [...watched.takingTokens()]
    .filter(({ hasCode, sweptAt }) => hasCode !== true && sweptAt < matched.number)
    .sort((a, b) => a.sweptAt - b.sweptAt)
    .slice(0, TOKENS_MAX);
  if (tokens.length === 0) return;
  const at = await readingBlocks.choose(matched);
  if (at.number > matched.number) return;
  const before = tokens.map((token) => ({ ...token }));
  await readCodes(reader, tokens, at);
  for (const [n, token] of tokens.entries()) {
    token.sweptAt = at.number;
    const { hasCode: had, sweptAt = -1 } = before[n] ?? {};
    const isNews = token.hasCode ? had === false : sweptAt < 0;
    if (isNews) watched.markTaking(token, { sinceMs: monotonicMs(), trace: undefined });
  }
}
