import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const REDIS_README = new URL('../../../../services/query/README.md', import.meta.url);
const ANSWER_MS_MAX = 60_000;

/** A user of a Redis, with the rights of one service. */
export interface RedisUser {
  /** The server's URL with the user's name and password. */
  readonly url: string;
  remove(): Promise<void>;
}

/** Adds a user with the rights of `services/query/README.md`, on keys of one prefix and no others. */
export async function createRedisUser(redisUrl: string, service: string, keyPrefix: string): Promise<RedisUser> {
  const [, rules] = new RegExp(`^user ${service} on (.*)$`, 'm').exec(readFileSync(REDIS_README, 'utf8')) ?? [];
  if (rules === undefined) throw new Error(`services/query/README.md has no user ${service}`);
  const name = `${service}-${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  const own = rules.replace('>password', `>${password}`).replaceAll('~mb:', `~${keyPrefix}`);
  await askRedis(redisUrl, `ACL SETUSER ${name} on ${own}`);
  const url = new URL(redisUrl);
  url.username = name;
  url.password = password;
  return { url: url.href, remove: async () => void (await askRedis(redisUrl, `ACL DELUSER ${name}`)) };
}

/** Sends one command that has no blanks in its words, and returns the first line of the answer. */
export function askRedis(redisUrl: string, line: string): Promise<string> {
  const { hostname, port } = new URL(redisUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(`${line}\r\n`));
    socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error('Redis does not answer')));
    socket.once('error', reject);
    socket.once('data', (data) => {
      socket.destroy();
      const answer = String(data).trim();
      if (answer.startsWith('-')) reject(new Error(`${line}: ${answer}`));
      else resolve(answer);
    });
  });
}
