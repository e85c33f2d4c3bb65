// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title A small constant-product pool of two tokens with a fee of 0.3 %, for the local chain and tests
/// @dev Tokens are sent first and booked after: `sync` books them as liquidity, `swap` as the input of a swap. Anyone's
/// liquidity belongs to all, and none is ever given back.
contract TestPool {
    using SafeERC20 for IERC20;

    error UnknownToken(address token);
    error NoInput();
    error NoLiquidity();

    IERC20 public immutable token0;
    IERC20 public immutable token1;
    uint256 public reserve0;
    uint256 public reserve1;

    constructor(IERC20 token0_, IERC20 token1_) {
        token0 = token0_;
        token1 = token1_;
    }

    /// @notice Books all tokens that the pool holds as its liquidity.
    function sync() public {
        reserve0 = token0.balanceOf(address(this));
        reserve1 = token1.balanceOf(address(this));
    }

    /// @notice What `amountIn` of a token would buy now.
    function quote(address tokenIn, uint256 amountIn) public view returns (uint256 amountOut) {
        (uint256 reserveIn, uint256 reserveOut) = _isToken0(tokenIn) ? (reserve0, reserve1) : (reserve1, reserve0);
        if (reserveIn == 0 || reserveOut == 0) revert NoLiquidity();
        uint256 afterFee = amountIn * 997;
        return afterFee * reserveOut / (reserveIn * 1000 + afterFee);
    }

    /// @notice Swaps what was sent of `tokenIn` since the pool last booked its reserves, and sends the output to `to`.
    function swap(address tokenIn, address to) external returns (address tokenOut, uint256 amountOut) {
        bool zeroForOne = _isToken0(tokenIn);
        uint256 amountIn = IERC20(tokenIn).balanceOf(address(this)) - (zeroForOne ? reserve0 : reserve1);
        if (amountIn == 0) revert NoInput();
        amountOut = quote(tokenIn, amountIn);
        IERC20 output = zeroForOne ? token1 : token0;
        output.safeTransfer(to, amountOut);
        sync();
        return (address(output), amountOut);
    }

    function _isToken0(address token) private view returns (bool) {
        if (token == address(token0)) return true;
        if (token == address(token1)) return false;
        revert UnknownToken(token);
    }
}
