// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {IERC5267} from "@openzeppelin/contracts/interfaces/IERC5267.sol";

/// @title An EIP-712 domain of `name`, version `v0`, this chain and this contract
/// @dev OpenZeppelin's EIP712 keeps the name in one word and refuses names over 31 bytes. The service's name is a
/// setting of any length, so this keeps the name's hash for digests and the name itself for `eip712Domain()`.
abstract contract SignedDomain is IERC5267 {
    error InvalidSignatureLength(uint256 length);

    string internal constant DOMAIN_VERSION = "v0";
    bytes32 private constant DOMAIN_TYPE_HASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

    string private _domainName;
    bytes32 private immutable _domainNameHash;
    bytes32 private immutable _domainSeparator;
    uint256 private immutable _domainChainId;

    constructor(string memory domainName) {
        _domainName = domainName;
        _domainNameHash = keccak256(bytes(domainName));
        _domainChainId = block.chainid;
        _domainSeparator = _buildDomainSeparator();
    }

    /// @notice The domain's struct hash. It follows the chain id if the chain forks.
    function domainSeparator() public view returns (bytes32) {
        return block.chainid == _domainChainId ? _domainSeparator : _buildDomainSeparator();
    }

    /// @inheritdoc IERC5267
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (0x0f, _domainName, DOMAIN_VERSION, block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    function _digest(bytes32 structHash) internal view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", domainSeparator(), structHash));
    }

    /// @dev Takes the forms that the service takes: 65 bytes with v of 0, 1, 27 or 28, and the 64 bytes of EIP-2098.
    /// An order that the service lists must not fail here for the form of its signature. High s is refused.
    function _recover(bytes32 digest, bytes calldata signature) internal pure returns (address) {
        if (signature.length == 65) {
            uint8 v = uint8(signature[64]);
            return ECDSA.recover(digest, v < 2 ? v + 27 : v, bytes32(signature[0:32]), bytes32(signature[32:64]));
        }
        if (signature.length == 64) {
            return ECDSA.recover(digest, bytes32(signature[0:32]), bytes32(signature[32:64]));
        }
        revert InvalidSignatureLength(signature.length);
    }

    /// @dev The same, and zero where `_recover` reverts.
    function _tryRecover(bytes32 digest, bytes calldata signature) internal pure returns (address signer) {
        if (signature.length == 65) {
            uint8 v = uint8(signature[64]);
            bytes32 s = bytes32(signature[32:64]);
            (signer,,) = ECDSA.tryRecover(digest, v < 2 ? v + 27 : v, bytes32(signature[0:32]), s);
        } else if (signature.length == 64) {
            (signer,,) = ECDSA.tryRecover(digest, bytes32(signature[0:32]), bytes32(signature[32:64]));
        }
    }

    function _buildDomainSeparator() private view returns (bytes32) {
        return keccak256(
            abi.encode(
                DOMAIN_TYPE_HASH, _domainNameHash, keccak256(bytes(DOMAIN_VERSION)), block.chainid, address(this)
            )
        );
    }
}
