/** The paths of the interface, and those of its documents. */
export const paths = {
  quoteData: '/v0/quote/data',
  limitOrders: '/v0alpha/limit-orders',
  cancellations: '/v0alpha/limit-orders/cancellations',
  replacements: '/v0alpha/limit-orders/replacements',
  cancelAll: '/v0alpha/limit-orders/cancel-all',
  heartbeat: '/v0alpha/limit-orders/heartbeat',
  cancelKeys: '/v0alpha/limit-orders/cancel-keys',
  fillCap: '/v0alpha/limit-orders/fill-cap',
  stream: '/v0alpha/limit-orders/stream',
  history: '/v0alpha/limit-orders/history',
  limitOrder: '/v0alpha/limit-orders/{orderHash}',
  info: '/v0alpha/limit-orders/info',
  openApi: '/openapi.json',
  asyncApi: '/asyncapi.json',
  docs: '/docs',
  /** Leads to the page. */
  root: '/',
} as const;
