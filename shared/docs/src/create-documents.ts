import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { topicNames } from '@makerbook/contracts-events';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Document, document, pageHeaders, pageStyles } from '@makerbook/http';
import { type Deployment, renderPages } from './render-pages.js';

const { resolve } = createRequire(import.meta.url);
/** A file of this package: of the styles, or of the built modules for the browser. */
const own = (path: string) => join(import.meta.dirname, '..', path);
/** A file beside the code of a package. */
const published = (name: string, file: string) => join(dirname(resolve(name)), '..', file);
const read = (path: string) => readFileSync(path, 'utf8');

const client = [
  'index',
  'call-service',
  'cancel-all',
  'stream-orders',
  'cancel-orders',
  'create-client',
  'errors',
  'place-orders',
  'read-orders',
  'retry-calls',
  'sign-requests',
  'verify-receipts',
];
/** The modules that the page loads: their address below /docs, and their file. */
const modules: Readonly<Record<string, string>> = {
  'browser/page.js': own('dist/browser/page.js'),
  'browser/panel.js': own('dist/browser/panel.js'),
  'browser/elements.js': own('dist/browser/elements.js'),
  ...Object.fromEntries(
    client.map((name) => [`lib/client/${name}.js`, published('@makerbook/client', `dist/${name}.js`)]),
  ),
  'lib/primitives.js': resolve('@makerbook/contracts-primitives'),
  'lib/typed-data.js': resolve('@makerbook/contracts-evm/typed-data'),
  'lib/paths.js': resolve('@makerbook/contracts-http/paths'),
  // Its one file for browsers.
  'lib/ethers.js': published('ethers', 'dist/ethers.min.js'),
};

/** Where the browser finds the packages that those import. */
const importMap = JSON.stringify({
  imports: {
    '@makerbook/client': `${paths.docs}/lib/client/index.js`,
    '@makerbook/contracts-primitives': `${paths.docs}/lib/primitives.js`,
    '@makerbook/contracts-evm/typed-data': `${paths.docs}/lib/typed-data.js`,
    '@makerbook/contracts-http/paths': `${paths.docs}/lib/paths.js`,
    ethers: `${paths.docs}/lib/ethers.js`,
  },
});

/**
 * The interface as documents: OpenAPI, AsyncAPI, and the pages with all that they load. Nothing comes from elsewhere.
 * @throws where a file is missing from the build
 */
export function createDocuments(deployment: Deployment): readonly Document[] {
  const asyncApi: AsyncApi = JSON.parse(read(published('@makerbook/contracts-events', 'asyncapi.json')));
  const { pages, searchIndex } = renderPages(deployment, importMap, {
    makers: read(published('@makerbook/contracts-http', 'README.md')),
    routers: read(published('@makerbook/contracts-events', 'README.md')),
    bookEntry: asyncApi.components.messages.BookEntry.examples[0].payload,
    asset: (name) => read(own(`assets/${name}`)),
  });
  return [
    json(paths.openApi, read(published('@makerbook/contracts-http', 'openapi.json'))),
    json(paths.asyncApi, JSON.stringify(withTopics(asyncApi, deployment), null, 2)),
    document(paths.root, '', 'text/plain', { Location: paths.docs }),
    ...pages.map(({ path, html }) => document(path, html, 'text/html', pageHeaders(importMap))),
    json(`${paths.docs}/search.json`, JSON.stringify(searchIndex)),
    json(`${paths.docs}/limit-order-protocol.json`, JSON.stringify(deployArtifacts.LimitOrderProtocol.abi)),
    json(`${paths.docs}/order-filler.json`, JSON.stringify(deployArtifacts.OrderFiller)),
    json(`${paths.docs}/vectors.json`, read(published('@makerbook/contracts-http', 'vectors.json'))),
    document(`${paths.docs}/style.css`, pageStyles() + read(own('assets/style.css')), 'text/css'),
    ...Object.entries(modules).map(([name, file]) => document(`${paths.docs}/${name}`, read(file), 'text/javascript')),
  ];
}

/** The part of the AsyncAPI document that the deployment changes or the pages show. */
interface AsyncApi {
  readonly channels: Readonly<
    Record<string, { readonly address: string; readonly bindings: { readonly kafka: object } }>
  >;
  readonly components: {
    readonly messages: { readonly BookEntry: { readonly examples: readonly [{ readonly payload: unknown }] } };
  };
}

/** With the names and the number of partitions that the topics have here. */
function withTopics(asyncApi: AsyncApi, { bookTopic, partitions }: Deployment): AsyncApi {
  const prefix = bookTopic.slice(0, -topicNames().book.length);
  const channels = Object.entries(asyncApi.channels).map(([id, channel]) => {
    const address = prefix + channel.address;
    return [
      id,
      { ...channel, address, bindings: { kafka: { ...channel.bindings.kafka, topic: address, partitions } } },
    ];
  });
  return { ...asyncApi, channels: Object.fromEntries(channels) };
}

const json = (path: string, body: string) => document(path, body, 'application/json');
