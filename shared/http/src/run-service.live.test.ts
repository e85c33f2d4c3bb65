import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { until } from '@makerbook/parts';

/** Spawns a process that runs a service, started by the expression `start`. It writes `starting` before that. */
function runProcess(start: string): ChildProcess {
  const module = JSON.stringify(new URL('./run-service.js', import.meta.url).href);
  const code = `
    import { runService } from ${module};
    // Something is open, as in a service.
    setInterval(() => {}, 1000);
    await runService('test', () => ({ LOG_LEVEL: 'error' }), () => { console.log('starting'); return ${start}; });`;
  return spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['pipe', 'pipe', 'pipe'] });
}

async function startedProcess(start: string): Promise<ChildProcess> {
  const child = runProcess(start);
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

async function endOf(child: ChildProcess): Promise<{ code: number | null; signal: string | null; errors: string }> {
  const [[code, signal], errors] = await Promise.all([once(child, 'exit'), child.stderr ? text(child.stderr) : '']);
  return { code, signal, errors };
}

const stop = "stop: async () => console.error('stopped')";

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends the process even during a start that never finishes',
  async (signal) => {
    const child = await startedProcess('new Promise(() => {})');
    child.kill(signal);
    expect(await endOf(child)).toEqual({ code: 0, signal: null, errors: '' });
  },
);

test('SIGTERM stops a running service, and the process exits with 0', async () => {
  const child = await startedProcess(`Promise.resolve({ ${stop}, failed: new Promise(() => {}) })`);
  child.kill('SIGTERM');
  expect(await endOf(child)).toEqual({ code: 0, signal: null, errors: 'stopped\n' });
});

test('a failed start exits with 1 and tells the reason', async () => {
  const end = await endOf(runProcess("Promise.reject(new Error('no such topic'))"));
  expect(end).toMatchObject({ code: 1, errors: expect.stringContaining('no such topic') });
});

test('a failure of a running service stops it, exits with 1, and tells the reason', async () => {
  const end = await endOf(runProcess(`Promise.resolve({ ${stop}, failed: Promise.resolve(new Error('fenced')) })`));
  expect(end).toMatchObject({ code: 1, errors: expect.stringMatching(/stopped[\s\S]*fenced/) });
});

test('an uncaught error in a request is 500 or a cut answer, and elsewhere it ends the process', async () => {
  const module = JSON.stringify(new URL('./serve-api.js', import.meta.url).href);
  const child = await startedProcess(`(async () => {
    const { serveApi } = await import(${module});
    const wrong = (where) => { throw new Error(where); };
    const never = new Promise(() => {});
    const handlers = {
      timer: () => { setTimeout(() => wrong('timer'), 5); return never; },
      tick: () => { process.nextTick(() => wrong('tick')); return never; },
      promise: () => { void (async () => { await 0; wrong('promise'); })(); return never; },
      listener: () => { const asked = fetch('http://127.0.0.1:1'); asked.catch(() => wrong('listener')); return never; },
      stream: () => ({ contentType: 'text/plain', body: '', stream: (response) => { response.write('half'); setTimeout(() => wrong('stream'), 50); } }),
      begins: () => ({ contentType: 'text/plain', body: '', stream: () => wrong('begins') }),
      well: () => ({ contentType: 'text/plain', body: 'well' }),
      other: () => { process.stdin.resume(); return never; },
    };
    process.stdin.once('data', () => wrong('not of a request'));
    const routes = Object.entries(handlers).map(([name, work]) => ({ method: 'GET', path: '/' + name, handle: async () => work() }));
    const write = (level) => (fields, text) => console.error(level, text, fields.error?.message ?? '');
    const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const settings = { HOST: '127.0.0.1', HOST_NAMES: [], PORT: 0, CONCURRENT_REQUESTS_MAX: 2, CLIENT_REQUESTS_MAX: 1000,
      CLIENT_WINDOW_SECONDS: 60, TRUSTED_PROXY_HOPS: 0, BODY_BYTES_MAX: 10000, HEADER_BYTES_MAX: 65536, REQUEST_TIMEOUT_MS: 60000,
      DRAIN_MS: 0, CORS_ORIGINS: [], CONNECTIONS_PER_ADDRESS_MAX: 50 };
    const api = await serveApi(settings, { routes, methodsAt: {}, logger });
    console.log('port', api.port);
    return { ${stop}, failed: never };
  })()`);
  const written = { text: '' };
  child.stdout?.on('data', (data) => (written.text += data));
  const end = endOf(child);
  const portOf = () => /port (\d+)/.exec(written.text)?.[1];
  await until(() => portOf() !== undefined);
  const ask = (name: string) => fetch(`http://127.0.0.1:${portOf()}/${name}`, { headers: { 'x-request-id': name } });
  for (const name of ['timer', 'tick', 'promise', 'listener']) {
    const answer = await ask(name);
    expect([name, answer.status]).toEqual([name, 500]);
    expect(await answer.json()).toMatchObject({ code: 'internal', requestId: name });
  }
  await expect(ask('stream').then((answer) => answer.text())).rejects.toThrow();
  await expect(ask('begins').then((answer) => answer.text())).rejects.toThrow();
  // None of these requests keeps its place among those under way, though some never return.
  expect(await (await ask('well')).text()).toBe('well');
  child.stdin?.write('end');
  const { code, errors } = await end;
  expect(code).toBe(1);
  for (const name of ['timer', 'tick', 'promise', 'listener', 'stream', 'begins'])
    expect(errors).toContain(`error a request failed ${name}`);
  expect(errors).toContain('not of a request');
});
