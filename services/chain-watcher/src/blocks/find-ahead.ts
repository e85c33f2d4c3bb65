import { type BlockAndHead, type Node, readBlockAndHead } from '@makerbook/chain';

/** Asks the other nodes for a block. Gives the answer of the first that has it, or undefined if none has. */
export async function findAhead(node: Node, number: number, lacking: string): Promise<BlockAndHead | undefined> {
  const others = node.endpoints().filter((other) => other.name !== lacking && !other.isResting());
  const asked = others.map(async (other) => {
    const answer = await readBlockAndHead(other, number);
    if (answer.block === undefined) throw new Error(`${other.name} does not have it either`);
    return answer;
  });
  // The first that has it: another one may hang. A node of another chain is found when it is asked for values.
  return await Promise.any(asked).catch(() => undefined);
}
