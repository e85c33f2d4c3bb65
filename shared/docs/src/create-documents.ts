import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { paths } from '@makerbook/contracts-http';
import type { Deployment } from './describe-interface.js';
import { protocolAbi, renderPage } from './render-page.js';

/** A file of the documents as it is served. */
export interface Document {
  readonly path: string;
  /** A buffer, so that it is packed once for all requests. */
  readonly body: Buffer;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
}

const { resolve } = createRequire(import.meta.url);
/** A file of ours: of the styles, or of the built modules for the browser. */
const own = (path: string) => join(import.meta.dirname, '..', path);
/** A file beside the code of a package of the contracts. */
const published = (name: string, file: string) => join(dirname(resolve(name)), '..', file);

const ownModules = ['page', 'panel', 'call-service', 'requests', 'sign', 'typed-data'];
const hashModules = ['sha3', 'sha2', 'hmac', '_md', '_u64', 'utils'];
const HASHES = `${paths.docs}/lib/hashes`;
const ABI = `${paths.docs}/limit-order-protocol.json`;
const CURVE = `${paths.docs}/lib/secp256k1.js`;

/** Where the browser finds the packages that our modules import. */
const importMap = JSON.stringify({ imports: { '@noble/hashes/': `${HASHES}/`, '@noble/secp256k1': CURVE } });

/** Nothing but what this service serves itself; of what is inline, the import map alone. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(importMap).digest('base64')}'`,
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The interface as documents: OpenAPI, AsyncAPI, and the page with all that it loads. Nothing comes from elsewhere.
 * @throws where a file is missing from the build
 */
export function createDocuments(deployment: Deployment): readonly Document[] {
  const asset = (name: string) => readFileSync(own(`assets/${name}`), 'utf8');
  const guide = readFileSync(published('@makerbook/contracts-events', 'README.md'), 'utf8');
  const assets = { template: asset('page.html'), order: asset('order.mjs'), fill: asset('fill.mjs'), guide };
  const page = renderPage(assets, deployment, importMap);
  const hashes = dirname(resolve('@noble/hashes/sha3.js'));
  return [
    json(paths.openApi, published('@makerbook/contracts-http', 'openapi.json')),
    json(paths.asyncApi, published('@makerbook/contracts-events', 'asyncapi.json')),
    document(paths.docs, Buffer.from(page), 'text/html', {
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
    }),
    document(paths.root, Buffer.from(''), 'text/plain', { Location: paths.docs }),
    document(ABI, Buffer.from(JSON.stringify(protocolAbi)), 'application/json'),
    document(`${paths.docs}/style.css`, readFileSync(own('assets/style.css')), 'text/css'),
    ...ownModules.map((name) => script(`${paths.docs}/browser/${name}.js`, own(`dist/browser/${name}.js`))),
    ...hashModules.map((name) => script(`${HASHES}/${name}.js`, join(hashes, `${name}.js`))),
    script(CURVE, resolve('@noble/secp256k1')),
  ];
}

const json = (path: string, file: string) => document(path, readFileSync(file), 'application/json');
const script = (path: string, file: string) => document(path, readFileSync(file), 'text/javascript');

function document(path: string, body: Buffer, type: string, headers: Document['headers'] = {}): Document {
  return {
    path,
    body,
    contentType: `${type}; charset=utf-8`,
    headers: { 'Cache-Control': 'public, max-age=300', 'X-Content-Type-Options': 'nosniff', ...headers },
  };
}
