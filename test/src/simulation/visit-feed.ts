import { paths } from '@makerbook/contracts-http';
import {
  admitReaders,
  createRoutes,
  feedSettings,
  type LiveBook,
  openBook,
  openFills,
  serveStreams,
} from '@makerbook/feed';
import { type ApiRequest, isRefusal, type Reply, type Route } from '@makerbook/http';
import type { Following, FollowOptions } from '@makerbook/kafka';
import type { Chance, Life } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { TAKEN, TOKENS } from './chain/act-on-chain.js';
import { type FeedName, FollowedFeed } from './follow-feed.js';
import { connect, TOPICS, type World } from './run-processes.js';
import { MAKER_ADDRESSES } from './visit-service.js';

/** Numbers of records of the book and of the fills, keyed by topic and partition. */
type Lengths = Readonly<Record<string, readonly number[]>>;

type Question = Pick<ApiRequest, 'params'> & {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
};

/** A router's question to feed, with the answer. */
export interface AnsweredQuestion extends Question {
  readonly atMs: number;
  /** Lengths of the topics when the process started. */
  readonly held: Lengths;
  /** How much of the topics the process had read when it answered. */
  readonly read: Lengths;
  /** True if nothing failed any more. */
  readonly isCalm: boolean;
  readonly reply: Reply;
}

interface FeedProcess {
  readonly life: Life;
  readonly routes: readonly Route[];
  readonly endStreams: () => void;
  readonly held: Lengths;
  readonly read: Lengths;
}

const settings = readSettings(feedSettings, { KAFKA_BROKERS: 'in-memory:1' });
export const STALE_SECONDS_MAX = settings.STALE_SECONDS_MAX;
/** Holds a few records of the book. */
const FEW_BYTES = 6_000;

/** The routers as clients of feed, and its processes. */
export class FeedVisits {
  /** Planted defects. */
  static answersUnread = false;
  static ignoresGas = false;
  static keepsSnapshots = false;
  readonly all: AnsweredQuestion[] = [];
  readonly followed = [new FollowedFeed('book'), new FollowedFeed('fills')] as const;
  readonly #world: World;
  readonly #processes: FeedProcess[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Starts a process of feed, wired as in its `run.ts`. */
  start(life: Life, draw: number): void {
    const { log, plan, onFatal } = this.#world;
    const lengthsOf = (measure: (topic: string, partition: number) => number) => {
      const partitions = Array.from({ length: plan.partitions }, (_, partition) => partition);
      const topics = [TOPICS.book, TOPICS.fills];
      return Object.fromEntries(topics.map((topic) => [topic, partitions.map((each) => measure(topic, each))]));
    };
    const read = lengthsOf(() => 0);
    const view = connect(life, draw, this.#world).log;
    const followTopic = (options: FollowOptions): Following => {
      const following = view.followTopic({
        ...options,
        onRecords: (partition, records) => {
          const lengths = read[options.topic] ?? [];
          lengths[partition] = (lengths[partition] ?? 0) + records.length;
          return options.onRecords(partition, records);
        },
      });
      return FeedVisits.answersUnread ? { ...following, caughtUp: Promise.resolve() } : following;
    };
    const soon = (work: () => void) => life.after(0, work);
    const options = { partitions: plan.partitions, onFatal, soon };
    const book = openBook(
      { followTopic },
      {
        ...options,
        topic: TOPICS.book,
        recentBytesMax: draw % 2 === 0 ? FEW_BYTES : settings.RECENT_BYTES_MAX,
        onNews: () => streams.send(),
      },
    );
    if (FeedVisits.keepsSnapshots) book.capture = keepFirst(book.capture);
    const fills = openFills(
      { followTopic },
      { ...options, topic: TOPICS.fills, book, fillsMax: settings.FILLS_MAX, onNews: () => fillStreams.send() },
    );
    const unixMs = () => life.nowMs();
    // A request must not wait on real time.
    const ended = { ended: () => undefined, aheadMsMax: 0 };
    const streams = serveStreams({ feed: book, name: 'book', ...ended });
    const fillStreams = serveStreams({ feed: fills, name: 'fills', ...ended });
    const endStreams = () => {
      streams.stop();
      fillStreams.stop();
    };
    life.signal.addEventListener('abort', endStreams);
    const { STREAMS_MAX: streamsMax } = settings;
    const readers = admitReaders({ readFile: () => '', streamsMax, monotonicMs: () => life.nowMs(), onFault: onFatal });
    const metrics = { read: () => undefined, sent: () => undefined };
    const parts = { book, fills, streams, fillStreams, readers, metrics, logger: silentLogger, unixMs };
    this.#processes.push({
      life,
      routes: createRoutes(settings, parts),
      endStreams,
      held: lengthsOf((topic, partition) => log.records(topic, partition).length),
      read,
    });
  }

  /** Asks a running process a question, if there is one. */
  async ask(chance: Chance): Promise<void> {
    const process = this.#find(chance);
    if (process === undefined) return;
    const { life, routes, held, read } = process;
    const question = drawQuestion(chance);
    await life.delay(chance.below(50));
    const before = structuredClone(read);
    const reply = await askRoute(routes, question);
    // If records came meanwhile, the moment of the answer is unknown.
    if (JSON.stringify(read) !== JSON.stringify(before)) return;
    this.#world.note(() => `${life.name} is asked ${JSON.stringify(question)}`);
    const { isCalm } = this.#world.calm;
    this.all.push({ ...question, atMs: life.nowMs(), held, read: before, isCalm, reply });
  }

  /** Resumes one of the feeds at any process. Sometimes it starts over, and sometimes it reads slowly. */
  async follow(chance: Chance): Promise<void> {
    const followed = chance.pick(this.followed);
    if (chance.oneIn(4)) followed.beginAnew();
    await this.#goOn(followed, chance, chance.oneIn(3));
  }

  /** Resumes both feeds, and reads them to their ends. */
  async followAll(chance: Chance): Promise<void> {
    await Promise.all(this.followed.map((one) => this.#goOn(one, chance, false)));
  }

  /** Stops the timers of all processes, which run on real time. */
  close(): void {
    for (const { endStreams } of this.#processes) endStreams();
  }

  #find(chance: Chance): FeedProcess | undefined {
    return chance.pickAny(this.#processes.filter(({ life }) => !life.isOver));
  }

  async #goOn(followed: FollowedFeed, chance: Chance, isSlow: boolean): Promise<void> {
    const process = this.#find(chance);
    if (process === undefined) return;
    const { life, routes } = process;
    const { time, calm, note } = this.#world;
    const takeMs = chance.between(1, 3_000);
    const open = followed.reconnect(isSlow ? (drain) => time.after(takeMs, drain) : undefined);
    await life.delay(chance.below(50));
    const { begin, stream } = feedPaths[followed.name];
    // Feed may drop records after the cursor before the stream begins. The router then starts over.
    for (let left = 5; left > 0 && open.isOpen(); left -= 1) {
      const { cursor } = followed;
      const question = cursor === undefined ? { path: begin, query: {} } : { path: stream, query: { after: cursor } };
      const reply = await askRoute(routes, { ...question, params: {} });
      note(
        () => `${life.name} is asked ${question.path} after ${cursor}${isRefusal(reply) ? `: ${reply.detail}` : ''}`,
      );
      if (!isRefusal(reply)) {
        if (cursor !== undefined) return reply.stream?.(open.response);
        await followed.begin(reply, open);
      } else if (reply.code === 'gone') followed.beginAnew();
      else {
        if (calm.isCalm) followed.wrong.push(`${question.path} is refused: ${reply.detail}`);
        return;
      }
    }
  }
}

/** The paths where a router begins a feed and follows it. */
const feedPaths: Readonly<Record<FeedName, { readonly begin: string; readonly stream: string }>> = {
  book: { begin: paths.bookSnapshot, stream: paths.bookStream },
  fills: { begin: paths.bookFills, stream: paths.bookFillStream },
};

/** Keeps the lines of each partition's first capture. */
function keepFirst(capture: LiveBook['capture']): LiveBook['capture'] {
  const kept = new Map<number, readonly string[]>();
  return (partition) => {
    const now = capture(partition);
    const lines = kept.get(partition) ?? now.lines;
    kept.set(partition, lines);
    return { ...now, lines };
  };
}

async function askRoute(routes: readonly Route[], { path, params, query }: Question): Promise<Reply> {
  const route = routes.find((each) => each.path === path);
  if (route === undefined) throw new Error(`there is no ${path}`);
  const { amountOutPerMillionGas: _, ...rest } = query;
  return route.handle({
    requestId: 'router',
    receivedAtMs: 0,
    client: 'router',
    charge: async () => undefined,
    params,
    query: new URLSearchParams(FeedVisits.ignoresGas ? rest : query),
    headers: {},
    body: undefined,
    describe: () => undefined,
  });
}

/** Draws a question: the depth of some pairs, a ladder, a quote or the fills. */
function drawQuestion(chance: Chance): Question {
  const pairs = TOKENS.flatMap((making) => TAKEN.map((taking) => ({ making, taking })));
  const { making, taking } = chance.pick([{ making: TOKENS[0], taking: TAKEN[0] }, ...pairs]);
  const limit = { limit: String(chance.pick([1, 2, 20])) };
  const kind = chance.pick(['pairs', 'ladder', 'quote', 'quote', 'fills'] as const);
  if (kind === 'pairs') {
    const some = pairs.filter(() => chance.oneIn(2)).map((pair) => `${pair.making}-${pair.taking}`);
    return { path: paths.bookPairs, params: {}, query: { pairs: [`${making}-${taking}`, ...some].join(), ...limit } };
  }
  if (kind === 'ladder') return { path: paths.bookLadder, params: { making, taking }, query: limit };
  if (kind === 'fills') {
    const cursor = `${chance.below(40)}:${chance.below(5)}`;
    const filters = { making, maker: chance.pick(MAKER_ADDRESSES), cursor };
    const named = Object.entries(filters).filter(() => chance.oneIn(3));
    return { path: paths.bookFills, params: {}, query: { ...limit, ...Object.fromEntries(named) } };
  }
  const amount = { [chance.pick(['amountIn', 'amountOut'])]: String(chance.between(1, 15)) };
  const gas = chance.oneIn(2) ? {} : { amountOutPerMillionGas: String(chance.pick([10, 30, 60, 100])) };
  const backups = { backups: String(chance.pick([0, 30, 100])) };
  const query = { tokenIn: taking, tokenOut: making, ...amount, ...gas, ...backups };
  return { path: paths.bookQuote, params: {}, query };
}
