// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {LimitOrderProtocol, Order} from "./LimitOrderProtocol.sol";

/// @title Fills orders of one pair one after the other, passes over those that fail, and stops at the amount
/// @dev It is the taker, so the caller's tokens go through it: it is empty before and after each call. The guard keeps a token
/// that calls back from taking them out. No function of Multicall3 would do: as the taker, it would have to be approved, and
/// then anyone could spend through it.
contract OrderFiller is ReentrancyGuard {
    using SafeERC20 for IERC20;

    struct Try {
        Order order;
        bytes signature;
        /// The most to take of the order.
        uint256 makingAmount;
    }

    struct Limits {
        /// The most that the caller pays. Less arrives of a token with a fee, and less is spent then.
        uint256 amountIn;
        /// What the fills sell in all. The largest number: as much as amountIn buys.
        uint256 amountOut;
        /// The least by which the caller's balance grows.
        uint256 minAmountOut;
        /// The most gas of a fill: a token that burns all it is given costs this much.
        uint256 gasPerFill;
    }

    error AnotherPair(uint256 index);
    error TooLittle(uint256 amountOut, uint256 minAmountOut);

    LimitOrderProtocol public immutable protocol;

    constructor(LimitOrderProtocol protocol_) {
        protocol = protocol_;
    }

    /// @notice Takes `amountIn` of the taking token from the caller, who has approved this contract, and gives back what no
    /// fill took, and all that the fills gave. Reverts if that is less than `minAmountOut`.
    /// @param tries Orders of one pair, the best first.
    function fill(Try[] calldata tries, Limits calldata limits) external nonReentrant {
        IERC20 tokenIn = IERC20(tries[0].order.taking.token);
        IERC20 tokenOut = IERC20(tries[0].order.making.token);
        uint256 before = tokenOut.balanceOf(msg.sender);
        tokenIn.safeTransferFrom(msg.sender, address(this), limits.amountIn);
        uint256 arrived = tokenIn.balanceOf(address(this));
        tokenIn.forceApprove(address(protocol), arrived);
        _fillAll(tries, limits, arrived);
        _giveBack(tokenIn);
        _giveBack(tokenOut);
        uint256 got = tokenOut.balanceOf(msg.sender) - before;
        if (got < limits.minAmountOut) revert TooLittle(got, limits.minAmountOut);
    }

    function _fillAll(Try[] calldata tries, Limits calldata limits, uint256 left) private {
        uint256 wanted = limits.amountOut;
        for (uint256 i = 0; i < tries.length; ++i) {
            Order calldata order = tries[i].order;
            if (
                order.taking.token != tries[0].order.taking.token || order.making.token != tries[0].order.making.token
            ) revert AnotherPair(i);
            uint256 amount = _within(order, Math.min(tries[i].makingAmount, wanted), left);
            if (amount == 0) continue;
            try protocol.fillOrder{gas: limits.gasPerFill}(order, tries[i].signature, amount, left) returns (
                uint256 paid
            ) {
                left -= paid;
                wanted -= amount;
            } catch {}
        }
    }

    /// @dev The most of the amount that what is left pays for. Neither product can overflow: the results are at most the order's
    /// own amounts.
    function _within(Order calldata order, uint256 amount, uint256 left) private pure returns (uint256) {
        uint256 making = order.making.amount;
        uint256 taking = order.taking.amount;
        if (Math.mulDiv(amount, taking, making, Math.Rounding.Ceil) <= left) return amount;
        return Math.mulDiv(left, making, taking);
    }

    function _giveBack(IERC20 token) private {
        uint256 balance = token.balanceOf(address(this));
        if (balance > 0) token.safeTransfer(msg.sender, balance);
    }
}
