import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import express, { type Router } from 'express';
import { z } from 'zod';
import { fillFrom } from './deploy-contracts.js';
import { readStackFile } from './write-stack-files.js';

const RUNBOOK = join(import.meta.dirname, '..', '..', 'runbooks', 'alerts.md');
const BODY_BYTES_MAX = 1_048_576;

const fill = z.object({
  tokenIn: z.string().regex(/^0x[0-9a-f]{40}$/),
  amountIn: z.string().regex(/^[1-9][0-9]{0,77}$/),
  calldata: z.string().regex(/^0x[0-9a-f]+$/),
});

/**
 * What the page /console is given on a stack with a chain of its own: it fills a quote there, and shows the runbook.
 * @param folder the stack's data folder
 */
export function serveConsole(folder: string): Router {
  const router = express.Router();
  router.put(
    '/local/fills',
    express.json({ type: () => true, limit: BODY_BYTES_MAX }),
    async (request, response, next) => {
      const stack = readStackFile(folder);
      const asked = fill.safeParse(request.body);
      if (stack === undefined || !asked.success) return next();
      const provider = new JsonRpcProvider(stack.rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 200 });
      try {
        const { amountIn, ...rest } = asked.data;
        const block = await fillFrom(provider, stack.orderFiller, { ...rest, amountIn: BigInt(amountIn) });
        response.json({ block });
      } catch (error) {
        response.status(409).json({ detail: error instanceof Error ? error.message : String(error) });
      } finally {
        provider.destroy();
      }
    },
  );
  router.get('/local/runbook', (_request, response) => {
    const text = readFileSync(RUNBOOK, 'utf8').replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
    const sections = text.replace(/^## (\w+)$/gm, (_, name: string) => `<b id="${name.toLowerCase()}">${name}</b>`);
    response.type('html').send(`<!doctype html><html lang="en"><title>Runbook</title><pre>${sections}</pre></html>`);
  });
  return router;
}
