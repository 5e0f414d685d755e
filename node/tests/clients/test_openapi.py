"""The description of the admin API, held against the specification of OpenAPI 3.1."""

import json
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

from conftest import DEADLINE_SECONDS, URL, gateway_only


@gateway_only
def test_the_description_is_valid():
    with urllib.request.urlopen(f"{URL}/api/openapi.json", timeout=DEADLINE_SECONDS) as answer:
        described = json.load(answer)
    errors = [f"{list(error.absolute_path)}: {error.message}" for error in OpenAPIV31SpecValidator(described).iter_errors()]
    assert not errors, "\n".join(errors)
