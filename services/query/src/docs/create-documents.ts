import { topicNames } from '@makerbook/contracts-events';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Document, document, type Modules, pageHeaders, pageStyles, serveModules } from '@makerbook/http';
import { beside, own, readText } from './read-files.js';
import { type Deployment, renderPages } from './render-pages.js';

/** The modules that the pages load. */
const modules: readonly Modules[] = [
  ['docs', own('dist/docs/browser')],
  ['@makerbook/client', beside('@makerbook/client')],
  ['@makerbook/contracts-primitives', beside('@makerbook/contracts-primitives')],
  ['@makerbook/contracts-evm/typed-data', beside('@makerbook/contracts-evm/typed-data'), ['typed-data.js']],
  ['@makerbook/contracts-http/paths', beside('@makerbook/contracts-http/paths'), ['paths.js']],
  ['ethers', beside('ethers', '../dist'), ['ethers.min.js']],
  ['lit-html', beside('lit-html', '..'), ['lit-html.js']],
];

/**
 * The interface as documents: OpenAPI, AsyncAPI, and the pages with all that they load. The pages load nothing from
 * other hosts.
 * @throws if a file is missing from the build
 */
export function createDocuments(deployment: Deployment): readonly Document[] {
  const { imports, documents } = serveModules(paths.docs, modules);
  const importMap = JSON.stringify({ imports });
  const asyncApi = readAsyncApi(deployment);
  const [bookEntry] = asyncApi.components.messages.BookEntry.examples;
  const { pages, absent, sections } = renderPages(deployment, importMap, bookEntry?.payload);
  return [
    json(paths.openApi, readText(beside('@makerbook/contracts-http', '../openapi.json'))),
    json(paths.asyncApi, JSON.stringify(asyncApi, null, 2)),
    document(paths.root, '', 'text/plain', { Location: paths.docs }),
    ...pages.map(({ path, html }) => document(path, html, 'text/html', pageHeaders(importMap))),
    { ...document(`${paths.docs}/{page}`, absent, 'text/html', pageHeaders(importMap)), status: 404 },
    json(`${paths.docs}/search.json`, JSON.stringify(sections)),
    json(`${paths.docs}/limit-order-protocol.json`, JSON.stringify(deployArtifacts.LimitOrderProtocol.abi)),
    json(`${paths.docs}/order-filler.json`, JSON.stringify(deployArtifacts.OrderFiller)),
    json(`${paths.docs}/vectors.json`, readText(beside('@makerbook/contracts-http', '../vectors.json'))),
    document(`${paths.docs}/style.css`, readStyles(), 'text/css'),
    ...documents,
  ];
}

function readStyles(): string {
  const code = (mode: string) => readText(beside('highlight.js', `../styles/stackoverflow-${mode}.css`));
  const dark = `@media (prefers-color-scheme: dark) {${code('dark')}}\n`;
  return pageStyles() + code('light') + dark + readText(own('assets/style.css'));
}

/** The part of the AsyncAPI document that the pages show. */
interface AsyncApi {
  readonly components: {
    readonly messages: { readonly BookEntry: { readonly examples: readonly { readonly payload: unknown }[] } };
  };
}

/** Reads the document, and puts in the topic names and partitions of this deployment. */
function readAsyncApi({ bookTopic, partitions }: Deployment): AsyncApi {
  const prefix = bookTopic.slice(0, -topicNames().book.length);
  return JSON.parse(readText(beside('@makerbook/contracts-events', '../asyncapi.json')), (key, value) => {
    if (key === 'partitions') return partitions;
    return key === 'address' || key === 'topic' ? prefix + value : value;
  });
}

const json = (path: string, body: string) => document(path, body, 'application/json');
