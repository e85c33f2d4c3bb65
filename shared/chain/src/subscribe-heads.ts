import WebSocket from 'ws';
import { hideSecretsOf } from './hide-secrets.js';
import { numberOf } from './parse-hex.js';

/** A subscription to a node's new blocks. It reopens itself until it is closed. */
export interface HeadSubscription {
  /** True while the node has confirmed the subscription. */
  isOpen(): boolean;
  close(): void;
}

export interface HeadSubscriptionOptions {
  /** `ws://` or `wss://` */
  readonly url: string;
  /**
   * Called for each block that the node announces, with its number if the node tells it. It is only a hint: it may be
   * repeated, late or missing.
   */
  readonly onHead: (number: number | undefined) => void;
  /** Called with the reason when the subscription breaks. It reopens by itself. */
  readonly onBroken: (reason: string) => void;
  /** After this silence the subscription is reopened. Default 15000. */
  readonly silenceMsMax?: number;
  /** Pause before the subscription is reopened. Doubles up to 30 times this value. Default 1000. */
  readonly restMs?: number;
}

/** Subscribes to `newHeads` over WebSocket. */
export function subscribeHeads(options: HeadSubscriptionOptions): HeadSubscription {
  const { url, onHead, onBroken, silenceMsMax = 15_000, restMs = 1000 } = options;
  const hideSecrets = hideSecretsOf(new URL(url));
  let socket: WebSocket | undefined;
  let timer: NodeJS.Timeout | undefined;
  let subscription: unknown;
  let failuresInARow = 0;
  let isClosed = false;

  const open = () => {
    const current = new WebSocket(url, { handshakeTimeout: silenceMsMax, maxPayload: 16 * 1024 * 1024 });
    socket = current;
    let silence: NodeJS.Timeout | undefined;
    let isBroken = false;
    const broken = (reason: string) => {
      if (isBroken) return;
      isBroken = true;
      clearTimeout(silence);
      subscription = undefined;
      current.terminate();
      if (isClosed) return;
      onBroken(hideSecrets(reason));
      timer = setTimeout(open, Math.min(restMs * 2 ** failuresInARow, restMs * 30));
      failuresInARow += 1;
    };
    const listen = () => {
      clearTimeout(silence);
      silence = setTimeout(() => broken(`nothing came for ${silenceMsMax} ms`), silenceMsMax);
    };
    listen();
    current.on('open', () => {
      current.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
    });
    current.on('message', (data) => {
      listen();
      const message = parse(String(data));
      if (message?.id === 1) {
        if (message.error !== undefined) return broken(`eth_subscribe was refused: ${JSON.stringify(message.error)}`);
        subscription = message.result;
        failuresInARow = 0;
      } else if (message?.method === 'eth_subscription') onHead(numberIn(message));
    });
    current.on('error', (error) => broken(error.message));
    current.on('close', (code) => broken(`closed with ${code}`));
  };
  open();

  return {
    isOpen: () => subscription !== undefined,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      socket?.terminate();
    },
  };
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly result?: { readonly number?: unknown } };
  readonly result?: unknown;
  readonly error?: unknown;
}

function parse(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === 'object' && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}

function numberIn({ params }: Message): number | undefined {
  try {
    return numberOf(params?.result?.number, 'block.number', 'the node');
  } catch {
    return undefined;
  }
}
