/** Human-readable fragments of LimitOrderProtocol, as ethers' Interface and Contract take them. */
export const limitOrderProtocolFragments = [
  'function nonce(address maker) view returns (uint256)',
  'function filled(bytes32 orderHash) view returns (uint256)',
  'function cancelled(bytes32 orderHash) view returns (bool)',
  'function hashOrder((uint256 salt,uint256 nonce,uint256 expiresAt,(address token,uint256 amount) making,(address token,uint256 amount) taking,address maker,address permittedTaker) order) view returns (bytes32)',
  'function remaining((uint256 salt,uint256 nonce,uint256 expiresAt,(address token,uint256 amount) making,(address token,uint256 amount) taking,address maker,address permittedTaker) order) view returns (uint256)',
  'function cancelOrder((uint256 salt,uint256 nonce,uint256 expiresAt,(address token,uint256 amount) making,(address token,uint256 amount) taking,address maker,address permittedTaker) order) returns (bytes32 orderHash)',
  'function cancelAllOrders() returns (uint256 newNonce)',
  'function fillOrder((uint256 salt,uint256 nonce,uint256 expiresAt,(address token,uint256 amount) making,(address token,uint256 amount) taking,address maker,address permittedTaker) order,bytes signature,uint256 makingAmount,uint256 maxTakingAmount) returns (uint256 takingAmount)',
  'event OrderFilled(address indexed maker,bytes32 indexed orderHash,address taker,uint256 makingAmount,uint256 takingAmount,uint256 remainingMakingAmount)',
  'event OrderCancelled(address indexed maker,bytes32 indexed orderHash)',
  'event AllOrdersCancelled(address indexed maker,uint256 newNonce)',
] as const;
