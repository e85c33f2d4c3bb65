import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { startTestChain, type TestChain } from '@makerbook/contracts-evm/testing';
import type { Address } from '@makerbook/contracts-primitives';
import { Contract } from 'ethers';
import { createNode, type Node, type NodeOptions } from '../call-node.js';

export type Answer = { readonly status: number; readonly body: string };

/** A real chain with an account that has coins, and servers that stand between it and its clients. */
export interface OpenChain extends TestChain {
  readonly account: Address;
  /** Sends a transaction to a token or a wallet, and waits until it is mined. */
  send(token: Address, method: string, ...args: unknown[]): Promise<void>;
  /** Returns the answer of the real node. */
  forward(body: string, to?: string): Promise<Answer>;
  /** Starts a server that answers each request with the function's result; undefined: never. Returns its URL. */
  serve(answer: (body: string) => Promise<Answer> | Answer | undefined): Promise<string>;
  /**
   * Opens a node with a generous time limit: calls that burn gas take long on a busy machine. Closed when the chain
   * stops.
   */
  openNode(urls: readonly string[], options?: Partial<NodeOptions>): Node;
}

export async function openChain(): Promise<OpenChain> {
  const chain = await startTestChain();
  const { anvil } = chain;
  const wallet = await chain.createAccount();
  const servers: Server[] = [];
  const nodes: Node[] = [];
  return {
    ...chain,
    account: wallet.address.toLowerCase() as Address,
    async send(token, method, ...args) {
      const { IllBehavedToken, TestWallet } = deployArtifacts;
      const abi = [...IllBehavedToken.abi, ...TestWallet.abi.filter(({ type }) => type === 'function')];
      const contract = new Contract(token, abi, wallet);
      const sent = await contract.getFunction(method).send(...args, { gasLimit: 500_000 });
      await sent.wait();
    },
    async forward(body, to = anvil.rpcUrl) {
      const answer = await fetch(to, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      return { status: answer.status, body: await answer.text() };
    },
    async serve(answer) {
      const server = createServer((request, response) => {
        const respond = async () => {
          let body = '';
          for await (const chunk of request) body += String(chunk);
          const said = await answer(body);
          if (said !== undefined) response.writeHead(said.status).end(said.body);
        };
        // If the node behind does not answer, this one does not either.
        respond().catch(() => response.destroy());
      });
      // Do not close a connection just when it is used again.
      server.keepAliveTimeout = 0;
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    openNode(urls, options) {
      const node = createNode({ urls, monotonicMs: () => 0, timeoutMs: 60_000, ...options });
      nodes.push(node);
      return node;
    },
    async stop() {
      for (const node of nodes) node.close();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      await chain.stop();
    },
  };
}
