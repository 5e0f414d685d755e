//! Nodes that exchange over TCP in one process, with a way between each two that can be cut.

mod cuts;
mod joining;
mod node;
mod refused;
mod telling;
mod way;
