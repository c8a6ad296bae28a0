"""The ports on AWS: the only modules that import botocore or know how anything is stored. They decide nothing."""
