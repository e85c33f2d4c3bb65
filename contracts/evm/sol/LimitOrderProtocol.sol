// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SignedDomain} from "./SignedDomain.sol";

struct TokenAmount {
    address token;
    uint256 amount;
}

struct Order {
    uint256 salt;
    uint256 nonce;
    uint256 expiresAt;
    TokenAmount making;
    TokenAmount taking;
    address maker;
    address permittedTaker;
}

/// @title Fills orders that makers signed off-chain, in full or in part
/// @dev Tokens move by allowance straight between maker and taker; the contract holds nothing. An order is bound to its
/// maker by its hash, so what is filled and cancelled is kept by hash alone.
contract LimitOrderProtocol is SignedDomain, ReentrancyGuard {
    using SafeERC20 for IERC20;

    /// @dev `remainingMakingAmount` is absolute: whoever sees the last fill knows the order's state.
    event OrderFilled(
        address indexed maker,
        bytes32 indexed orderHash,
        address taker,
        uint256 makingAmount,
        uint256 takingAmount,
        uint256 remainingMakingAmount
    );
    event OrderCancelled(address indexed maker, bytes32 indexed orderHash);
    event AllOrdersCancelled(address indexed maker, uint256 newNonce);

    error OrderExpired(uint256 expiresAt);
    error OrderNonceChanged(uint256 orderNonce, uint256 makerNonce);
    error OrderIsCancelled(bytes32 orderHash);
    error InsufficientRemaining(uint256 makingAmount, uint256 remainingMakingAmount);
    error TakingAmountTooHigh(uint256 takingAmount, uint256 maxTakingAmount);
    error TakerNotPermitted(address taker, address permittedTaker);
    error NotMaker(address caller, address maker);
    error InvalidSigner(address signer, address maker);
    error WalletRefusesSignature(address maker);
    error ZeroAmount();

    bytes32 private constant TOKEN_AMOUNT_TYPE_HASH = keccak256("TokenAmount(address token,uint256 amount)");
    bytes32 private constant ORDER_TYPE_HASH = keccak256(
        "Order(uint256 salt,uint256 nonce,uint256 expiresAt,TokenAmount making,TokenAmount taking,address maker,address permittedTaker)TokenAmount(address token,uint256 amount)"
    );

    /// @notice The maker's current nonce: an order with another one is cancelled for good.
    mapping(address maker => uint256) public nonce;
    /// @notice How much of an order's making amount was filled so far.
    mapping(bytes32 orderHash => uint256) public filled;
    /// @notice Whether its maker cancelled the order one by one.
    mapping(bytes32 orderHash => bool) public cancelled;

    constructor(string memory serviceName) SignedDomain(string.concat(serviceName, " Limit Order Protocol")) {}

    /// @notice The EIP-712 digest of the order: what the maker signs, and the hash by which events name the order.
    function hashOrder(Order calldata order) public view returns (bytes32) {
        return _digest(
            keccak256(
                abi.encode(
                    ORDER_TYPE_HASH,
                    order.salt,
                    order.nonce,
                    order.expiresAt,
                    _hashTokenAmount(order.making),
                    _hashTokenAmount(order.taking),
                    order.maker,
                    order.permittedTaker
                )
            )
        );
    }

    /// @notice What is left to fill of the order: zero when it was cancelled one by one. Expiry, nonce, balance and
    /// allowance are not judged here.
    function remaining(Order calldata order) external view returns (uint256) {
        bytes32 orderHash = hashOrder(order);
        return cancelled[orderHash] ? 0 : order.making.amount - filled[orderHash];
    }

    /// @notice Cancels one order of the caller, signed or not, for good.
    function cancelOrder(Order calldata order) external returns (bytes32 orderHash) {
        if (msg.sender != order.maker) revert NotMaker(msg.sender, order.maker);
        orderHash = hashOrder(order);
        if (cancelled[orderHash]) revert OrderIsCancelled(orderHash);
        cancelled[orderHash] = true;
        emit OrderCancelled(order.maker, orderHash);
    }

    /// @notice Cancels every order of the caller with a nonce up to the current one, for good: the nonce only grows.
    function cancelAllOrders() external returns (uint256 newNonce) {
        newNonce = ++nonce[msg.sender];
        emit AllOrdersCancelled(msg.sender, newNonce);
    }

    /// @notice Sells `makingAmount` of the maker's token to the caller at the order's price, rounded up in the maker's
    /// favour. All of it or nothing: less than that remaining reverts.
    /// @param maxTakingAmount The most that the caller pays; at least the rounded price of `makingAmount`.
    /// @return takingAmount What the caller paid.
    function fillOrder(Order calldata order, bytes calldata signature, uint256 makingAmount, uint256 maxTakingAmount)
        external
        nonReentrant
        returns (uint256 takingAmount)
    {
        if (order.permittedTaker != address(0) && order.permittedTaker != msg.sender) {
            revert TakerNotPermitted(msg.sender, order.permittedTaker);
        }
        if (block.timestamp > order.expiresAt) revert OrderExpired(order.expiresAt);
        if (makingAmount == 0 || order.taking.amount == 0) revert ZeroAmount();
        uint256 makerNonce = nonce[order.maker];
        if (order.nonce != makerNonce) revert OrderNonceChanged(order.nonce, makerNonce);

        bytes32 orderHash = hashOrder(order);
        if (cancelled[orderHash]) revert OrderIsCancelled(orderHash);
        _requireSigned(order.maker, orderHash, signature);

        uint256 left = order.making.amount - filled[orderHash];
        if (makingAmount > left) revert InsufficientRemaining(makingAmount, left);
        takingAmount = Math.mulDiv(makingAmount, order.taking.amount, order.making.amount, Math.Rounding.Ceil);
        if (takingAmount > maxTakingAmount) revert TakingAmountTooHigh(takingAmount, maxTakingAmount);

        filled[orderHash] += makingAmount;
        emit OrderFilled(order.maker, orderHash, msg.sender, makingAmount, takingAmount, left - makingAmount);

        // The maker is paid first: a token that calls back finds the fill booked and the guard closed.
        IERC20(order.taking.token).safeTransferFrom(msg.sender, order.maker, takingAmount);
        IERC20(order.making.token).safeTransferFrom(order.maker, msg.sender, makingAmount);
    }

    /// @dev A key signs first, so an account with a key is asked for nothing, whether it has code (EIP-7702) or not. Else a
    /// maker with code is asked (EIP-1271). It is asked by `staticcall`: it can change nothing.
    function _requireSigned(address maker, bytes32 orderHash, bytes calldata signature) private view {
        if (maker.code.length == 0) {
            address signer = _recover(orderHash, signature);
            if (signer != maker) revert InvalidSigner(signer, maker);
        } else if (
            _tryRecover(orderHash, signature) != maker
                && !SignatureChecker.isValidERC1271SignatureNowCalldata(maker, orderHash, signature)
        ) {
            revert WalletRefusesSignature(maker);
        }
    }

    function _hashTokenAmount(TokenAmount calldata amount) private pure returns (bytes32) {
        return keccak256(abi.encode(TOKEN_AMOUNT_TYPE_HASH, amount.token, amount.amount));
    }
}
