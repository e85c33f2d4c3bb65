// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {SignedDomain} from "./SignedDomain.sol";

interface IPool {
    function swap(address tokenIn, address to) external returns (address tokenOut, uint256 amountOut);
}

/// @dev A quote of interface version v0: the output goes to the caller.
struct QuoteV0 {
    address tokenIn;
    uint256 amountIn;
    address tokenOut;
    uint256 deadline;
}

/// @dev A quote of interface version v1: it has an id, and names who receives the output.
struct QuoteV1 {
    uint256 quoteId;
    address tokenIn;
    uint256 amountIn;
    address tokenOut;
    address recipient;
    uint256 deadline;
}

/// @title Executes the swaps that quotes promise, when a quote signer signed for all that the call says
/// @dev `route` is the pools of the path, 20 bytes each, one to ROUTE_POOLS_MAX of them. `minOutput` has one element,
/// the guaranteed minimum output, or none: then there is no guarantee, and nothing in the call that could be made one.
/// `signature` is 65 bytes over the EIP-712 digest of everything else.
contract Navigator is SignedDomain, Ownable2Step, ReentrancyGuard {
    using SafeERC20 for IERC20;

    event QuoteSignerChanged(address indexed signer, bool allowed);
    event QuoteExecuted(
        address indexed caller, address indexed recipient, address tokenIn, uint256 amountIn, address tokenOut, uint256 output
    );

    error InsufficientOutput(uint256 output, uint256 minimum);
    error QuoteExpired(uint256 deadline);
    error UnknownQuoteSigner(address signer);
    error TooManyMinimums(uint256 count);
    error InvalidRoute(uint256 length);
    error WrongOutputToken(address routed, address quoted);

    uint256 public constant ROUTE_POOLS_MAX = 8;

    bytes32 private constant QUOTE_V0_TYPE_HASH = keccak256(
        "QuoteV0(address tokenIn,uint256 amountIn,address tokenOut,uint256 deadline,bytes route,uint256[] minOutput)"
    );
    bytes32 private constant QUOTE_V1_TYPE_HASH = keccak256(
        "QuoteV1(uint256 quoteId,address tokenIn,uint256 amountIn,address tokenOut,address recipient,uint256 deadline,bytes route,uint256[] minOutput)"
    );

    /// @notice Whose signatures count. More than one at a time lets keys be rotated.
    mapping(address signer => bool) public isQuoteSigner;

    constructor(string memory serviceName, address owner, address[] memory quoteSigners)
        SignedDomain(string.concat(serviceName, " Navigator"))
        Ownable(owner)
    {
        for (uint256 i = 0; i < quoteSigners.length; ++i) {
            _setQuoteSigner(quoteSigners[i], true);
        }
    }

    /// @notice Admits or removes a quote signer.
    function setQuoteSigner(address signer, bool allowed) external onlyOwner {
        _setQuoteSigner(signer, allowed);
    }

    /// @notice Swaps as a quote of interface version v0 says.
    function swapQuoteV0(
        QuoteV0 calldata quote,
        bytes calldata route,
        uint256[] calldata minOutput,
        bytes calldata signature
    ) external nonReentrant returns (uint256 output) {
        bytes32 structHash = keccak256(
            abi.encode(QUOTE_V0_TYPE_HASH, quote, keccak256(route), keccak256(abi.encodePacked(minOutput)))
        );
        _requireSigned(structHash, signature, quote.deadline);
        return _swap(quote.tokenIn, quote.amountIn, quote.tokenOut, msg.sender, route, minOutput);
    }

    /// @notice Swaps as a quote of interface version v1 says.
    function swapQuoteV1(
        QuoteV1 calldata quote,
        bytes calldata route,
        uint256[] calldata minOutput,
        bytes calldata signature
    ) external nonReentrant returns (uint256 output) {
        bytes32 structHash = keccak256(
            abi.encode(QUOTE_V1_TYPE_HASH, quote, keccak256(route), keccak256(abi.encodePacked(minOutput)))
        );
        _requireSigned(structHash, signature, quote.deadline);
        return _swap(quote.tokenIn, quote.amountIn, quote.tokenOut, quote.recipient, route, minOutput);
    }

    function _setQuoteSigner(address signer, bool allowed) private {
        isQuoteSigner[signer] = allowed;
        emit QuoteSignerChanged(signer, allowed);
    }

    /// @dev One form of signature only, so that a changed call is signed anew without moving any other byte.
    function _requireSigned(bytes32 structHash, bytes calldata signature, uint256 deadline) private view {
        if (block.timestamp > deadline) revert QuoteExpired(deadline);
        if (signature.length != 65) revert InvalidSignatureLength(signature.length);
        address signer = _recover(_digest(structHash), signature);
        if (!isQuoteSigner[signer]) revert UnknownQuoteSigner(signer);
    }

    /// @dev The output is what the recipient's balance gained, whatever pools and tokens say of themselves.
    function _swap(
        address tokenIn,
        uint256 amountIn,
        address tokenOut,
        address recipient,
        bytes calldata route,
        uint256[] calldata minOutput
    ) private returns (uint256 output) {
        if (minOutput.length > 1) revert TooManyMinimums(minOutput.length);
        uint256 balanceBefore = IERC20(tokenOut).balanceOf(recipient);
        address routed = _follow(tokenIn, amountIn, recipient, route);
        if (routed != tokenOut) revert WrongOutputToken(routed, tokenOut);
        output = IERC20(tokenOut).balanceOf(recipient) - balanceBefore;
        if (minOutput.length == 1 && output < minOutput[0]) revert InsufficientOutput(output, minOutput[0]);
        emit QuoteExecuted(msg.sender, recipient, tokenIn, amountIn, tokenOut, output);
    }

    /// @dev Each pool sends its output to the next one, the last to the recipient. Gives the last pool's token.
    function _follow(address tokenIn, uint256 amountIn, address recipient, bytes calldata route)
        private
        returns (address token)
    {
        uint256 pools = route.length / 20;
        if (pools == 0 || pools > ROUTE_POOLS_MAX || route.length % 20 != 0) revert InvalidRoute(route.length);
        token = tokenIn;
        address pool = address(bytes20(route[0:20]));
        IERC20(tokenIn).safeTransferFrom(msg.sender, pool, amountIn);
        for (uint256 i = 1; i <= pools; ++i) {
            address next = i < pools ? address(bytes20(route[i * 20:i * 20 + 20])) : recipient;
            (token,) = IPool(pool).swap(token, next);
            pool = next;
        }
    }
}
