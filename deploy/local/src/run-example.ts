import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions, refuseWords } from '@makerbook/settings';

const USAGE = `npm run example:maker | example:maker-viem | example:quoter | example:router | example:poller | example:streamer
  a maker's bot, the same with nothing but viem, a bot that quotes and a router's reader until Ctrl-C, an aggregator's adapters
  that fill once by polling and by the stream (examples/typescript/src), on the stack that runs (MAKERBOOK_DATA: its folder,
  .local unless given); the router also on KAFKA_BROKERS alone`;
const { name } = readOptions(USAGE, {}, ['maker', 'maker-viem', 'quoter', 'router', 'poller', 'streamer']);
if (name === undefined) refuseWords('which example?');
const file = join(process.env['MAKERBOOK_DATA'] ?? '.local', 'stack.json');
if (!existsSync(file) && !(name === 'router' && process.env['KAFKA_BROKERS'])) {
  console.error(
    `no stack runs here (${file} is missing): start it with \`npm start\` and leave it running, or name its folder by MAKERBOOK_DATA`,
  );
  process.exit(1);
}
process.removeAllListeners('warning').on('warning', (warning) => {
  // kafkajs sets timers in the past.
  if (warning.name !== 'TimeoutNegativeWarning') console.warn(warning.message);
});
await import(join(import.meta.dirname, '../../../examples/typescript/dist', `${name}.js`));
