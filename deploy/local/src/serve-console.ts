import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import express, { type Router } from 'express';
import { z } from 'zod';
import { fillFrom, openChain } from './fund-makers.js';
import { readDecisions } from './start-services.js';
import { readStackFile } from './write-stack-files.js';

const RUNBOOK = join(import.meta.dirname, '..', '..', 'runbooks', 'alerts.md');
const BODY_BYTES_MAX = 1_048_576;

const fill = z.object({
  tokenIn: z.string().regex(/^0x[0-9a-f]{40}$/),
  amountIn: z.string().regex(/^[1-9][0-9]{0,77}$/),
  data: z.string().regex(/^0x[0-9a-f]+$/),
});

/**
 * Serves what the page /console needs on a stack with a chain of its own. It fills quotes. It shows the decisions about
 * a maker, the blocks and transactions of the node, and the runbook.
 * @param folder the stack's data folder
 * @param environment environment of the operator's commands
 */
export function serveConsole(folder: string, environment: Readonly<Record<string, string | undefined>>): Router {
  const router = express.Router();
  router.put(
    '/local/fills',
    express.json({ type: () => true, limit: BODY_BYTES_MAX }),
    async (request, response, next) => {
      const stack = readStackFile(folder);
      const asked = fill.safeParse(request.body);
      if (stack === undefined || !asked.success) return next();
      const provider = openChain(stack);
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
  router.get('/local/makers/:maker/decisions', async (request, response, next) => {
    const { maker } = request.params;
    if (!/^0x[0-9a-f]{40}$/.test(maker)) return next();
    response.type('json').send(await readDecisions(maker, environment));
  });
  router.get('/local/chain/:id', async (request, response, next) => {
    const { id } = request.params;
    const stack = readStackFile(folder);
    if (stack === undefined || !/^(\d{1,15}|0x[0-9a-f]{64})$/.test(id)) return next();
    const provider = openChain(stack);
    const isBlock = !id.startsWith('0x');
    const asked = isBlock ? [`0x${Number(id).toString(16)}`, true] : [id];
    const told = provider.send(isBlock ? 'eth_getBlockByNumber' : 'eth_getTransactionReceipt', asked);
    const text = JSON.stringify(await told.finally(() => provider.destroy()), undefined, 2);
    response.type('text').send(text);
  });
  router.get('/local/runbook', (_request, response) => {
    const text = readFileSync(RUNBOOK, 'utf8').replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
    const sections = text.replace(/^## (\w+)$/gm, (_, name: string) => `<b id="${name.toLowerCase()}">${name}</b>`);
    response.type('html').send(`<!doctype html><html lang="en"><title>Runbook</title><pre>${sections}</pre></html>`);
  });
  return router;
}
