# A variable in the source of a module needs 1.15. The modules themselves need 1.11.
terraform {
  required_version = ">= 1.15"
}
