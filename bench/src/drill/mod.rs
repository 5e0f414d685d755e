//! Several nodes of one cluster, before a mock upstream and under load: what becomes of requests, config and counters when nodes
//! are lost, and what a mesh costs.

mod place;

mod certify;

mod nodes;

mod ask;

mod cluster;

mod load;

mod writes;

mod limit;

mod rounds;

mod command;
pub use command::Command;

mod report;

mod visible;

mod mesh;
pub use mesh::Command as MeshCommand;
