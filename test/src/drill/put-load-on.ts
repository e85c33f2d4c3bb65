import { createClient } from '@makerbook/client';
import { bytesToHex } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { beginAtPace } from '../kit/generate-load.js';
import { placeAndCancel } from '../kit/place-and-cancel.js';
import { type Drill, SERVICE_NAME } from './open-drill.js';

const DAY_SECONDS = 86_400;
const PER_SECOND = 5;
const EMPTY_PATCH = { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: '{"data":"0x"}' };

/** Places, lists, cancels and patches some times a second, whatever is answered. The PATCH asks for no change: 400. */
export function putLoadOn({ services, contracts, maker }: Drill): { stop(): Promise<void> } {
  const [making, taking] = contracts.tokens.map(({ address }) => address);
  if (making === undefined || taking === undefined) throw new Error('there are no tokens');
  const clientOf = (service: string) =>
    createClient({
      baseUrl: services.url(service),
      signer: bytesToHex(maker.key),
      chainId: 8217,
      serviceName: SERVICE_NAME,
      limitOrderProtocol: contracts.limitOrderProtocol,
    });
  const [ingress, query] = [clientOf('ingress'), clientOf('query')];
  const patchUrl = `${services.url('ingress')}${paths.quoteData}`;
  const placing = placeAndCancel(
    [
      {
        client: { ...ingress, listOrders: query.listOrders },
        sign: () =>
          ingress.signOrder({
            making: { token: making, amount: 100n },
            taking: { token: taking, amount: 50n },
            expiresAt: Math.floor(Date.now() / 1000) + DAY_SECONDS,
          }),
      },
    ],
    { roundsPerSecond: PER_SECOND, openOrders: 0 },
  );
  const patching = beginAtPace(PER_SECOND, async () => {
    const answer = await fetch(patchUrl, EMPTY_PATCH).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
  });
  return {
    async stop() {
      await Promise.all([placing.stop(), patching.stop()]);
    },
  };
}
