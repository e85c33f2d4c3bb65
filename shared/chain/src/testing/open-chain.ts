import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { type AnvilPart, startAnvil } from '@makerbook/parts';
import {
  Contract,
  ContractFactory,
  type InterfaceAbi,
  JsonRpcProvider,
  NonceManager,
  type TransactionResponse,
  Wallet,
} from 'ethers';
import { createNode, type Node, type NodeOptions } from '../call-node.js';

export type Answer = { readonly status: number; readonly body: string };

/** A real chain with an account that has coins, and servers that stand between it and whoever asks. */
export interface TestChain {
  readonly anvil: AnvilPart;
  readonly provider: JsonRpcProvider;
  readonly account: Address;
  deploy(artifact: { readonly abi: InterfaceAbi; readonly bytecode: string }, ...args: unknown[]): Promise<Address>;
  /** Sends a transaction to a token, and waits until it is mined. */
  send(token: Address, method: string, ...args: unknown[]): Promise<void>;
  /** The answer of the real node. */
  forward(body: string, to?: string): Promise<Answer>;
  /** The URL of a server that answers each request with what the function says; undefined: not at all. */
  serve(answer: (body: string) => Promise<Answer> | Answer | undefined): Promise<string>;
  /** With a generous time limit: calls that burn much gas take long on a busy machine. It is closed when the chain stops. */
  openNode(urls: readonly string[], options?: Partial<NodeOptions>): Node;
  stop(): Promise<void>;
}

export async function openChain(): Promise<TestChain> {
  const anvil = await startAnvil();
  const provider = new JsonRpcProvider(anvil.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
  provider.pollingInterval = 20;
  const wallet = new Wallet(Wallet.createRandom().privateKey, provider);
  const account = wallet.address.toLowerCase() as Address;
  await provider.send('anvil_setBalance', [account, '0x3635c9adc5dea00000']);
  const deployer = new NonceManager(wallet);
  const servers: Server[] = [];
  const nodes: Node[] = [];
  /** `wait` alone may look just before the block is there, and then again only with the next one, which nobody makes. */
  const untilMined = async (sent: TransactionResponse | null) => {
    while (sent !== null && (await provider.getTransactionReceipt(sent.hash)) === null) await delay(10);
    await sent?.wait();
  };
  return {
    anvil,
    provider,
    account,
    async deploy({ abi, bytecode }, ...args) {
      const contract = await new ContractFactory(abi, bytecode, deployer).deploy(...args);
      await untilMined(contract.deploymentTransaction());
      return (await contract.getAddress()).toLowerCase() as Address;
    },
    async send(token, method, ...args) {
      const contract = new Contract(token, deployArtifacts.IllBehavedToken.abi, deployer);
      await untilMined(await contract.getFunction(method).send(...args, { gasLimit: 500_000 }));
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
      // Not to be closed at the very moment at which it is used again.
      server.keepAliveTimeout = 0;
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    openNode(urls, options) {
      const node = createNode({ urls, nowMs: () => 0, timeoutMs: 60_000, ...options });
      nodes.push(node);
      return node;
    },
    async stop() {
      for (const node of nodes) node.close();
      provider.destroy();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      await anvil.stop();
    },
  };
}
