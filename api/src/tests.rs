//! Tests of the interface without a node.
