import type { Hex } from '@makerbook/contracts-primitives';
import { JsonRpcProvider } from 'ethers';

const ANSWER_MS_MAX = 5_000;
/** The key that an account's address is made of (AccountKeyLegacy). */
const FIRST_KEY = 1;
/** No request depends on the chain. */
const ANY_CHAIN = 1;

/**
 * Warns of accounts whose key was changed on Kaia. The chain no longer takes transactions by the key of their address,
 * but orders that this key signs still fill. A node that does not know the method, as those of other chains, gives no
 * warning.
 * @param url the node; empty: nobody is asked
 */
export async function warnOfChangedKeys(makers: readonly Hex[], url: string): Promise<string[]> {
  if (url === '') return [];
  // A provider that asks for the network itself would print on standard output while the node is down.
  const node = new JsonRpcProvider(url, ANY_CHAIN, { staticNetwork: true, cacheTimeout: -1 });
  try {
    const asked = makers.map(async (maker) => {
      const key = (await within(node.send('kaia_getAccountKey', [maker, 'latest']))) as { keyType?: unknown } | null;
      return typeof key?.keyType === 'number' && key.keyType !== FIRST_KEY
        ? `${maker} has changed its key on the chain (account key type ${key.keyType}). Orders are signed by the key of its address, and anyone with that key can still sign orders that fill`
        : [];
    });
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  } finally {
    node.destroy();
  }
}

function within<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the node does not answer')), ANSWER_MS_MAX);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
