import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';

/** A process that runs a service whose parts are these expressions; it writes `starting` when its start begins. */
function runProcess(start: string): ChildProcess {
  const module = JSON.stringify(new URL('./run-service.js', import.meta.url).href);
  const code = `
    import { runService } from ${module};
    // Something is open, as in a service.
    setInterval(() => {}, 1000);
    await runService('test', () => ({ LOG_LEVEL: 'error' }), () => { console.log('starting'); return ${start}; });`;
  return spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'pipe'] });
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
  '%s during a start that does not come to its end ends the process',
  async (signal) => {
    const child = await startedProcess('new Promise(() => {})');
    child.kill(signal);
    expect(await endOf(child)).toEqual({ code: 0, signal: null, errors: '' });
  },
);

test('SIGTERM stops a service that runs, and the process ends with 0', async () => {
  const child = await startedProcess(`Promise.resolve({ ${stop}, failed: new Promise(() => {}) })`);
  child.kill('SIGTERM');
  expect(await endOf(child)).toEqual({ code: 0, signal: null, errors: 'stopped\n' });
});

test('a start that fails ends with 1 and its reason', async () => {
  const end = await endOf(runProcess("Promise.reject(new Error('no such topic'))"));
  expect(end).toMatchObject({ code: 1, errors: expect.stringContaining('no such topic') });
});

test('a failure while it runs stops the service, and ends with 1 and its reason', async () => {
  const end = await endOf(runProcess(`Promise.resolve({ ${stop}, failed: Promise.resolve(new Error('fenced')) })`));
  expect(end).toMatchObject({ code: 1, errors: expect.stringMatching(/stopped[\s\S]*fenced/) });
});
