import express, { type Router } from 'express';
import { fundMaker, impersonate, openChain } from './fund-makers.js';
import { serveConsole } from './serve-console.js';
import { admitMaker } from './start-services.js';
import { readStackFile } from './write-stack-files.js';

const PREPARE_MS_MAX = 60_000;
const loopback = /^(::ffff:)?127\.|^::1$/;

/**
 * Serves the makers' pages and the operators' console on a stack with a chain of its own, to this machine alone.
 * @param folder the stack's data folder
 * @param environment environment of the operator's commands
 */
export function openLocalStack(folder: string, environment: Readonly<Record<string, string | undefined>>) {
  const tell = tellStack(folder);
  return {
    forMakers: express.Router().use(tell, prepareMakers(folder, environment)),
    forOperators: express.Router().use(tell, serveConsole(folder, environment)),
  };
}

function tellStack(folder: string): Router {
  const router = express.Router();
  router.use('/local', (request, _response, next) => {
    next(loopback.test(request.socket.remoteAddress ?? '') ? undefined : 'router');
  });
  router.get('/local/stack.json', (_request, response, next) => {
    const stack = readStackFile(folder);
    if (stack === undefined) return next();
    response.json({ folder, tokens: stack.tokens, consoleUrl: stack.consoleUrl });
  });
  return router;
}

/** Puts a new maker of /docs on the whitelist, gives it coins and tokens, and approves the contract for it. */
function prepareMakers(folder: string, environment: Readonly<Record<string, string | undefined>>): Router {
  const router = express.Router();
  // Take no POST: a page of another origin can send one without asking first.
  router.put('/local/makers/:maker', async (request, response, next) => {
    const stack = readStackFile(folder);
    const maker = request.params.maker.toLowerCase();
    if (stack === undefined || !/^0x[0-9a-f]{40}$/.test(maker)) return next();
    const provider = openChain(stack);
    try {
      await fundMaker(await impersonate(provider, maker), stack.tokens, stack.limitOrderProtocol);
    } finally {
      provider.destroy();
    }
    await admitMaker(maker, environment, AbortSignal.timeout(PREPARE_MS_MAX));
    response.json({ maker });
  });
  return router;
}
