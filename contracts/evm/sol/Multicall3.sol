// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// @title Many calls in one, with the functions and the ABI of the well-known Multicall3 that the service needs
/// @dev Two things differ from the well-known deployment, so that one bad token cannot spoil the reading of all others:
/// - Each call gets an equal share of the gas that is left, not 63/64 of it: a callee that burns all it is given
///   costs its own share, and what honest callees leave over goes to those behind them. With n calls each is sure of
///   1/(n+1) of the gas.
/// - A callee that returns more than RETURN_DATA_MAX_BYTES counts as failed, with no data: memory costs grow with the
///   square of its size, and the caller pays for the copy.
contract Multicall3 {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    error CallFailed(uint256 index);

    uint256 public constant RETURN_DATA_MAX_BYTES = 4096;

    /// @notice Makes the calls in order. Reverts when one fails that is not allowed to.
    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData) {
        uint256 length = calls.length;
        returnData = new Result[](length);
        for (uint256 i = 0; i < length; ++i) {
            Call3 calldata current = calls[i];
            uint256 share = gasleft() / (length - i + 1);
            (returnData[i].success, returnData[i].returnData) = _call(current.target, current.callData, share);
            if (!returnData[i].success && !current.allowFailure) revert CallFailed(i);
        }
    }

    function getBlockNumber() external view returns (uint256 blockNumber) {
        return block.number;
    }

    function getCurrentBlockTimestamp() external view returns (uint256 timestamp) {
        return block.timestamp;
    }

    function getBlockHash(uint256 blockNumber) external view returns (bytes32 blockHash) {
        return blockhash(blockNumber);
    }

    function _call(address target, bytes calldata callData, uint256 gasShare)
        private
        returns (bool success, bytes memory data)
    {
        bytes memory input = callData;
        uint256 size;
        assembly ("memory-safe") {
            success := call(gasShare, target, 0, add(input, 0x20), mload(input), 0, 0)
            size := returndatasize()
        }
        if (size > RETURN_DATA_MAX_BYTES) return (false, "");
        data = new bytes(size);
        assembly ("memory-safe") {
            returndatacopy(add(data, 0x20), 0, size)
        }
    }
}
