import { asKaia, KAIA_BASE_FEE, KAIA_REQUEST_BYTES_MAX } from './kaia-rules.js';
import { type AskedCall, type Gate, type Misbehaviour, startMisbehavingNode } from './misbehaving-node.js';

const SENDS = new Set(['eth_sendRawTransaction', 'eth_sendTransaction']);
const MAKES_BLOCKS = new Set([...SENDS, 'anvil_mine', 'evm_mine', 'evm_revert']);
/** A transaction that waits for another one is in no block for now. */
const MINED_MS_MAX = 5000;

/**
 * A node as strict as one of Kaia before anvil: its limits, its words, its headers, its base fee.
 * anvil answers a read of its newest block, by hash or not, with the state after the next one where that is mined
 * meanwhile; a node of Kaia does not. Through this gate no block is made while somebody reads, and nobody reads while one
 * is made.
 */
export function startStrictNode(nodeUrl: string): Promise<Gate> {
  let reading = 0;
  let onQuiet: () => void = () => undefined;
  let making: Promise<unknown> = Promise.resolve();
  let makers = 0;
  let isMinedAtOnce = true;

  const kaia = asKaia();
  const read: Misbehaviour = async (calls, forward) => {
    while (makers > 0) await making;
    reading += 1;
    try {
      return await kaia(calls, forward);
    } finally {
      reading -= 1;
      if (reading === 0) onQuiet();
    }
  };
  const make: Misbehaviour = async (calls, forward) => {
    makers += 1;
    const before = making;
    const made = before.then(async () => {
      if (reading > 0) {
        await new Promise<void>((resolve) => {
          onQuiet = resolve;
        });
      }
      await forward([{ id: 0, method: 'anvil_setNextBlockBaseFeePerGas', params: [KAIA_BASE_FEE] }]);
      const answers = await forward(calls);
      const sent = answers.flatMap(({ result }, at) =>
        SENDS.has(calls[at]?.method ?? '') && typeof result === 'string' ? [result] : [],
      );
      if (isMinedAtOnce) for (const hash of sent) await untilMined(hash, forward);
      return answers;
    });
    making = made.catch(() => undefined);
    try {
      return await made;
    } finally {
      makers -= 1;
    }
  };
  return startMisbehavingNode(
    nodeUrl,
    (calls, forward) => {
      for (const { method, params } of calls) if (method === 'evm_setAutomine') isMinedAtOnce = params[0] === true;
      return calls.some(({ method }) => MAKES_BLOCKS.has(method)) ? make(calls, forward) : read(calls, forward);
    },
    KAIA_REQUEST_BYTES_MAX,
  );
}

async function untilMined(hash: string, forward: (calls: readonly AskedCall[]) => ReturnType<Misbehaviour>) {
  const deadline = Date.now() + MINED_MS_MAX;
  const isMined = async () => {
    const answers = await forward([{ id: 1, method: 'eth_getTransactionReceipt', params: [hash] }]);
    return !('status' in answers) && answers[0]?.result !== null;
  };
  while (!(await isMined()) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
}
