/** The paths of the interface (Interface 4). */
export const paths = {
  quoteData: '/v0/quote/data',
  limitOrders: '/v0alpha/limit-orders',
} as const;
