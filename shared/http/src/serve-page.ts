import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { ApiRequest, Refusal, ReplyHeaders, Success } from './reply.js';
import type { Route } from './serve-api.js';

/** A page, or a file that it loads, as it is served. */
export interface Document extends Success {
  readonly path: string;
  /** A buffer, so that it is packed once for all requests. */
  readonly body: Buffer;
  readonly headers: ReplyHeaders;
}

export function document(path: string, text: string, type: string, headers: ReplyHeaders = {}): Document {
  return {
    path,
    body: Buffer.from(text),
    contentType: `${type}; charset=utf-8`,
    headers: { 'Cache-Control': 'public, max-age=300', 'X-Content-Type-Options': 'nosniff', ...headers },
  };
}

/** Serves a document. A 404 page is for people: a program gets a problem. */
export function serveDocument({ path, ...answer }: Document): Route {
  const absent: Refusal = { code: 'not_found', detail: 'there is no such page' };
  const isFor = ({ headers }: ApiRequest) => answer.status === undefined || headers.accept?.includes('text/html');
  return { method: 'GET', path, handle: async (request) => (isFor(request) ? answer : absent) };
}

/**
 * The headers of a page that loads only what its own service serves. The import map is the only inline part.
 * @param importMap the text of the import map's script
 */
export function pageHeaders(importMap: string): ReplyHeaders {
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${createHash('sha256').update(importMap).digest('base64')}'`,
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' };
}

/**
 * Modules that a page loads: their import name, their folder, and their paths in it. The first path is the module that
 * the name stands for. Without paths: all modules in the folder, except a command.
 */
export type Modules = readonly [name: string, folder: string, paths?: readonly string[]];

/**
 * Makes what a page below a path needs to load modules: the imports of its import map, and the modules.
 * @throws if a file is missing from the build
 */
export function serveModules(path: string, modules: readonly Modules[], headers?: ReplyHeaders) {
  const all = modules.map(([name, folder, paths = modulesIn(folder)]) => {
    const at = `${path}/lib/${name}/`;
    const documents = paths.map((each) =>
      document(at + each, readFileSync(join(folder, each), 'utf8'), 'text/javascript', headers),
    );
    return { imports: [[name, `${at}${paths[0]}`] as const, [`${name}/`, at] as const], documents };
  });
  return {
    imports: Object.fromEntries(all.flatMap(({ imports }) => imports)),
    documents: all.flatMap(({ documents }) => documents),
  };
}

function modulesIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /^(?!main\.)[a-z-]+\.js$/.test(name));
  return names.sort((a, b) => Number(b === 'index.js') - Number(a === 'index.js'));
}

/** The styles that all pages share. */
export function pageStyles(): string {
  const simple = createRequire(import.meta.url).resolve('simpledotcss');
  const files = [simple, join(import.meta.dirname, '../assets/page.css')];
  return files.map((file) => readFileSync(file, 'utf8')).join('\n');
}
