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

export const erc20Fragments = [
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address owner,address spender) view returns (uint256)',
  'function approve(address spender,uint256 value) returns (bool)',
  'function transfer(address to,uint256 value) returns (bool)',
  'function transferFrom(address from,address to,uint256 value) returns (bool)',
  'event Transfer(address indexed from,address indexed to,uint256 value)',
  'event Approval(address indexed owner,address indexed spender,uint256 value)',
] as const;

/** What a wrapped native token adds to an ERC-20: both events move a balance without a Transfer. */
export const wrappedNativeFragments = [
  'function deposit() payable',
  'function withdraw(uint256 value)',
  'event Deposit(address indexed account,uint256 value)',
  'event Withdrawal(address indexed account,uint256 value)',
] as const;

/** The part of the canonical Multicall3 that the service calls. */
export const multicall3Fragments = [
  'function aggregate3((address target,bool allowFailure,bytes callData)[] calls) payable returns ((bool success,bytes returnData)[] returnData)',
  'function getBlockNumber() view returns (uint256 blockNumber)',
  'function getCurrentBlockTimestamp() view returns (uint256 timestamp)',
  'function getBlockHash(uint256 blockNumber) view returns (bytes32 blockHash)',
] as const;
