"""What operators see of Trestle: dashboards and rules, from which `charts/generate.py` writes files."""
