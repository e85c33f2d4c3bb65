import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import type { Address } from '@makerbook/contracts-primitives';
import { openSender } from '../bench/send-requests.js';
import { bodyOf, createOrderSigner, createRequestSigner } from '../bench/sign-orders.js';
import { type Drill, SERVICE_NAME } from './open-drill.js';

const DAY_SECONDS = 86_400;
const PAUSE_MS = 200;
const EMPTY_PATCH = { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: '{"data":"0x"}' };

/** Places, lists, cancels and patches some times a second, whatever is answered. The PATCH asks for no change: 400. */
export function putLoadOn({ services, contracts, maker }: Drill): { stop(): Promise<void> } {
  const [making, taking] = contracts.tokens.map(({ address }) => address as Address);
  if (making === undefined || taking === undefined) throw new Error('there are no tokens');
  const domain = {
    serviceName: SERVICE_NAME,
    chainId: 8217,
    verifyingContract: contracts.limitOrderProtocol as Address,
  };
  const signOrder = createOrderSigner(domain, {
    makingToken: making,
    takingToken: taking,
    expiresAtSeconds: Math.floor(Date.now() / 1000) + DAY_SECONDS,
  });
  const { signList, signCancel } = createRequestSigner(domain);
  const [ingressUrl, queryUrl] = [services.url('ingress'), services.url('query')];
  const [ingress, query] = [ingressUrl, queryUrl].map((url) => openSender(Number(new URL(url).port)));
  let isOn = true;
  const round = async () => {
    const order = signOrder(maker);
    await ingress?.send({ method: 'POST', path: paths.limitOrders, body: bodyOf([order]) }).catch(() => undefined);
    await Promise.allSettled([
      query?.send(signList(maker)),
      ingress?.send(signCancel(maker, order)),
      fetch(`${ingressUrl}${paths.quoteData}`, EMPTY_PATCH).then((answer) => answer.arrayBuffer()),
    ]);
  };
  const rounds = new Set<Promise<void>>();
  const done = (async () => {
    for (; isOn; await pause(PAUSE_MS)) {
      const running = round().finally(() => rounds.delete(running));
      rounds.add(running);
    }
    await Promise.all(rounds);
  })();
  done.catch(() => undefined);
  return {
    async stop() {
      isOn = false;
      await done;
      ingress?.close();
      query?.close();
    },
  };
}
