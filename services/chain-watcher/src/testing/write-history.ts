import { randomBytes } from 'node:crypto';
import { encodeMakerEvent, type Hex, type MakerEvent, type MakerFact } from '@makerbook/contracts-events';
import { type Appender, type LogRecord, partitionOf } from '@makerbook/kafka';
import { createChance } from '@makerbook/local-stack';

interface OpenOrder {
  readonly maker: Hex;
  readonly orderHash: Hex;
  readonly amount: number;
}

/** Writes a history that could have been: orders, what became of them, funds, and a block in all partitions now and then. */
export interface History {
  /** Appends so many random facts. Blocks are some seconds apart. */
  write(facts: number): Promise<void>;
  /** Appends blocks alone, so many to each partition, without anything that the log says of them. */
  writeBlocks(blocks: number): Promise<void>;
  /** Appends so many orders that stay open, each of a maker of its own. */
  writeOpenOrders(count: number): Promise<void>;
  /** Records that were appended. */
  records(): number;
  clockSeconds(): number;
}

const ZERO: Hex = `0x${'0'.repeat(40)}`;
const tokens: readonly Hex[] = [`0x${'b1'.repeat(20)}`, `0x${'b2'.repeat(20)}`];
const START_SECONDS = 1_700_000_000;

export function writeHistory(options: {
  readonly seed: number;
  readonly appender: Appender;
  readonly topic: string;
  readonly partitions: number;
  readonly makers: number;
}): History {
  const { appender, topic, partitions } = options;
  const { below } = createChance(options.seed);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const makers = Array.from({ length: options.makers }, () => ({ maker: hex(20), nonce: 0 }));
  const open: OpenOrder[] = [];
  let block = { number: 100, hash: hex(32), timestamp: START_SECONDS };
  let count = 0;
  let batch = new Map<number, LogRecord[]>();

  const put = (partition: number, event: MakerEvent) => {
    const { key, value, headers } = encodeMakerEvent(event, { id: `${count}`, source: '/history', timeMs: 0 });
    count += 1;
    const records = batch.get(partition) ?? [];
    if (records.length === 0) batch.set(partition, records);
    records.push({ topic, partition, key: key ?? '', value, headers });
  };
  const putFact = (fact: MakerFact) => put(partitionOf(fact.maker, partitions), fact);
  const flush = async () => {
    const written = [...batch.values()];
    batch = new Map();
    await Promise.all(
      written.map(async (records) => {
        for (let at = 0; at < records.length; at += 2000) await appender.append(records.slice(at, at + 2000));
      }),
    );
  };
  const nextBlock = (seconds: number) => {
    block = { number: block.number + 1, hash: hex(32), timestamp: block.timestamp + seconds };
    for (let partition = 0; partition < partitions; partition += 1) put(partition, { type: 'BlockProcessed', block });
  };
  const submit = (maker: Hex, nonce: number, lastsSeconds: number) => {
    const orderHash = hex(32);
    const amount = 1 + below(30);
    const submitted = { maker, orderHash, amount };
    open.push(submitted);
    putFact({
      type: 'OrderSubmitted',
      maker,
      orderHash,
      order: {
        salt: `0x${count.toString(16)}`,
        nonce: quantity(nonce),
        expiresAt: quantity(block.timestamp + lastsSeconds),
        making: { token: pick(tokens), amount: quantity(amount) },
        taking: { token: `0x${'c1'.repeat(20)}`, amount: '0x1' },
        maker,
        permittedTaker: ZERO,
      },
      signature: `0x${'5'.repeat(130)}`,
      acceptedAtMs: block.timestamp * 1000,
      cause: { kind: 'request', requestId: `${count}` },
    });
    return submitted;
  };
  const fill = (order: OpenOrder, amount: number) => {
    const filledMakingAmount = quantity(amount);
    putFact({ type: 'OrderFilled', ...nameOf(order), filledMakingAmount, block, cause: READ });
  };
  const step = () => {
    const what = below(20);
    const one = pick(makers);
    const { maker } = one;
    const old = open.length === 0 ? undefined : pick(open);
    const value = quantity(below(40));
    if (what < 6) {
      const order = submit(maker, one.nonce, 5 + below(what === 0 ? 5000 : 150));
      if (what < 4) fill(order, 0);
    } else if (what === 6 && old !== undefined) {
      const cause = { kind: 'request', requestId: 'r' } as const;
      putFact({ type: 'OrderCancelled', ...nameOf(old), expiresAtSeconds: 4_000_000_000, cause });
    } else if (what === 7 && old !== undefined) {
      putFact({ type: 'OrderCancelledOnChain', ...nameOf(old), block, cause: READ });
    } else if (what === 8 && old !== undefined) {
      fill(old, below(old.amount + 1));
    } else if (what === 9) {
      if (below(8) === 0) one.nonce += 1;
      putFact({ type: 'NonceChanged', maker, nonce: quantity(one.nonce), block, cause: READ });
    } else if (what < 13)
      putFact({ type: 'BalanceChanged', maker, token: pick(tokens), balance: value, block, cause: READ });
    else if (what < 16) {
      putFact({ type: 'AllowanceChanged', maker, token: pick(tokens), allowance: value, block, cause: READ });
    } else nextBlock(1 + below(6));
  };

  return {
    write: async (facts) => {
      for (let n = 0; n < facts; n += 1) step();
      await flush();
    },
    writeBlocks: async (blocks) => {
      for (let n = 0; n < blocks; n += 1) {
        nextBlock(1);
        if (n % 5000 === 4999) await flush();
      }
      await flush();
    },
    writeOpenOrders: async (orders) => {
      for (let n = 0; n < orders; n += 1) submit(hex(20), 0, 100_000_000);
      await flush();
    },
    records: () => count,
    clockSeconds: () => block.timestamp,
  };
}

const READ = { kind: 'read', occasion: 'SWEEP' } as const;
const nameOf = ({ maker, orderHash }: { readonly maker: Hex; readonly orderHash: Hex }) => ({ maker, orderHash });
const hex = (bytes: number): Hex => `0x${randomBytes(bytes).toString('hex')}`;
const quantity = (value: number): Hex => `0x${value.toString(16)}`;
